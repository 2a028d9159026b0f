package steelyard;

/** Intended starts of an open loop, which free clients take one after another: of each host its share of the rate. */
final class Arrivals {
    private final double gapNs;
    private final double firstNs;
    private final boolean poisson;
    private final SmallRandom random;
    private double nextNs;
    private long endNs;

    Arrivals(Work work) {
        // as of the native engine's threads: shares of a Poisson process are Poisson, even ones are staggered
        gapNs = 1e9 * work.share.hosts() / work.ratePerS;
        firstNs = 1e9 * work.share.host() / work.ratePerS;
        poisson = work.poisson;
        random = new SmallRandom(work.seed ^ work.share.host() * 0x9e3779b97f4a7c15L);
    }

    /** The arrivals of the next stretch of load. */
    synchronized void begin(Window window) {
        nextNs = window.startNs() + (poisson ? gap() : firstNs);
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
