package steelyard;

/** pgbench's `permute` from PostgreSQL 15 on, as crates/load/src/statements/permutation.rs has it. */
final class Permutation {
    private static final int ROUNDS = 6;

    private Permutation() {}

    /** The place of index among 0 to size - 1. size: from 1. */
    static long of(long index, long size, long seed) {
        if (size < 2) {
            return 0;
        }
        Numbers random = new Numbers(seed);
        int bits = 63 - Long.numberOfLeadingZeros(size);
        long mask = (1L << bits) - 1;
        long last = size - 1;
        long at = index % size;
        for (int round = 0; round < ROUNDS; round++) {
            for (int half = 0; half < 2; half++) {
                boolean upper = half == 1;
                long factor = random.next() & mask | 1;
                long flips = random.next() & mask;
                long place = upper ? last - at : at;
                if (place <= mask) {
                    long mixed = (place * factor ^ flips) & mask;
                    long rotated = mixed << 1 & mask | mixed >>> bits - 1;
                    at = upper ? last - rotated : rotated;
                }
            }
            at = Long.remainderUnsigned(at + random.upTo(last), size);
        }
        return at;
    }

    /** xoroshiro128** (Blackman and Vigna 2018), seeded by SplitMix64 (Steele, Lea and Flood 2014). */
    private static final class Numbers {
        private static final long STEP = 0x9e3779b97f4a7c15L;
        private long first;
        private long second;

        Numbers(long seed) {
            first = SmallRandom.mixed(seed + STEP);
            second = SmallRandom.mixed(seed + 2 * STEP);
        }

        long next() {
            long result = Long.rotateLeft(first * 5, 7) * 9;
            long mixed = first ^ second;
            first = Long.rotateLeft(first, 24) ^ mixed ^ mixed << 16;
            second = Long.rotateLeft(mixed, 37);
            return result;
        }

        /** 0 to most, above 0: drawn again beyond it. */
        long upTo(long most) {
            while (true) {
                long number = next() >>> Long.numberOfLeadingZeros(most);
                if (number <= most) {
                    return number;
                }
            }
        }
    }
}
