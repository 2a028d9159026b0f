package steelyard;

/**
 * The random numbers of the native engine: xoshiro256++ (Blackman and Vigna 2021) seeded by SplitMix64, with
 * ranges by Canon's method (crate rand 0.9, distr/uniform_int.rs). The same seed gives the same numbers.
 */
final class SmallRandom {
    private long s0;
    private long s1;
    private long s2;
    private long s3;

    SmallRandom(long seed) {
        s0 = mixed(seed + 0x9e3779b97f4a7c15L);
        s1 = mixed(seed + 2 * 0x9e3779b97f4a7c15L);
        s2 = mixed(seed + 3 * 0x9e3779b97f4a7c15L);
        s3 = mixed(seed + 4 * 0x9e3779b97f4a7c15L);
    }

    /** Goes on where the other is. */
    void set(SmallRandom other) {
        s0 = other.s0;
        s1 = other.s1;
        s2 = other.s2;
        s3 = other.s3;
    }

    /** A client's numbers of one kind: 0 for values, 1 for texts, 2 for pauses. */
    static SmallRandom of(long seed, int client, int kind) {
        return new SmallRandom(seed * 0x2545f4914f6cdd1dL ^ (long) client << 2 ^ kind);
    }

    static long mixed(long state) {
        long z = state;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    long next() {
        long result = Long.rotateLeft(s0 + s3, 23) + s0;
        long t = s1 << 17;
        s2 ^= s0;
        s3 ^= s1;
        s1 ^= s2;
        s0 ^= s3;
        s2 ^= t;
        s3 = Long.rotateLeft(s3, 45);
        return result;
    }

    /** 0 to below 1. */
    double share() {
        return (next() >>> 11) * 0x1.0p-53;
    }

    /** low to high, both included. */
    long range(long low, long high) {
        long range = high - low + 1;
        if (range == 0) {
            return next();
        }
        long number = next();
        long result = high(number, range);
        long rest = number * range;
        if (Long.compareUnsigned(rest, -range) > 0) {
            long more = high(next(), range);
            result += Long.compareUnsigned(rest + more, rest) < 0 ? 1 : 0;
        }
        return low + result;
    }

    /** The upper half of an unsigned product. */
    private static long high(long a, long b) {
        return Math.multiplyHigh(a, b) + (a >> 63 & b) + (b >> 63 & a);
    }

    /** 0 to below size, for sizes of 32 bits: these draw half as much. */
    int below(int size) {
        long range = Integer.toUnsignedLong(size);
        long product = (next() >>> 32) * range;
        long result = product >>> 32;
        long rest = product & 0xffffffffL;
        if (rest > (-range & 0xffffffffL)) {
            long more = (next() >>> 32) * range >>> 32;
            result += rest + more >>> 32;
        }
        return (int) result;
    }
}
