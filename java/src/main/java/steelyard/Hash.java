package steelyard;

/** pgbench's hashes of a whole number. */
final class Hash {
    private static final long M = 0xc6a4a7935bd1e995L;

    private Hash() {}

    /** FNV-1a of the eight bytes of a number, lowest first; the seed changes the start. */
    static long fnv1a(long number, long seed) {
        long hash = 0xcbf29ce484222325L ^ seed;
        for (int at = 0; at < 8; at++) {
            hash = (hash ^ (number >>> 8 * at & 0xff)) * 0x100000001b3L;
        }
        return hash;
    }

    /** MurmurHash2 of 64 bits, of the eight bytes of a number. */
    static long murmur2(long number, long seed) {
        long mixed = number * M;
        mixed = (mixed ^ mixed >>> 47) * M;
        long hash = ((seed ^ M * 8) ^ mixed) * M;
        hash = (hash ^ hash >>> 47) * M;
        return hash ^ hash >>> 47;
    }
}
