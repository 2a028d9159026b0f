package steelyard;

/** Intended starts of an open loop, which free clients take one after another. */
final class Arrivals {
    private final double gapNs;
    private final boolean poisson;
    private final SmallRandom random;
    private double nextNs;
    private long endNs;

    Arrivals(Work work) {
        gapNs = 1e9 / work.ratePerS;
        poisson = work.poisson;
        random = new SmallRandom(work.seed);
    }

    /** The arrivals of the next stretch of load. */
    synchronized void begin(Window window) {
        nextNs = window.startNs() + (poisson ? gap() : 0);
        endNs = window.endNs();
    }

    /** The next intended start; -1: none is left before the end. */
    synchronized long take() {
        if (nextNs >= endNs) {
            return -1;
        }
        long start = (long) nextNs;
        nextNs += gap();
        return start;
    }

    private double gap() {
        return poisson ? -gapNs * Math.log(1 - random.share()) : gapNs;
    }
}
