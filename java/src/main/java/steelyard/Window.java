package steelyard;

/** A stretch of load, monotonic ns: what begins from measureNs to endNs counts. */
record Window(long startNs, long measureNs, long endNs) {
    /** One that begins now. */
    static Window of(double settleMs, double measureMs) {
        return at(System.nanoTime() + 1_000_000, settleMs, measureMs);
    }

    static Window at(long start, double settleMs, double measureMs) {
        long measure = start + (long) (settleMs * 1e6);
        return new Window(start, measure, measure + (long) (measureMs * 1e6));
    }

    boolean measures(long beginNs) {
        return beginNs >= measureNs && beginNs < endNs;
    }

    long measuredNs() {
        return endNs - measureNs;
    }
}
