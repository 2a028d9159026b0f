package steelyard;

/** Intended starts of an open loop, which free clients take one after another. */
final class Arrivals {
    private final double gapNs;
    private final boolean poisson;
    private final SmallRandom random;
    private double nextNs;
    private long endNs;
    private long backlog;

    Arrivals(Work work) {
        gapNs = 1e9 / work.ratePerS;
        poisson = work.poisson;
        random = new SmallRandom(work.seed);
    }

    /** The arrivals of the next stretch of load. */
    synchronized void begin(Window window) {
        nextNs = window.startNs() + (poisson ? gap() : 0);
        endNs = window.endNs();
        backlog = 0;
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

    /** An arrival whose time is over: all those after it are late as well. */
    synchronized void late() {
        backlog++;
        while (take() >= 0) {
            backlog++;
        }
    }

    /** Arrivals of the last stretch for which no client was free in time. */
    synchronized long backlog() {
        return backlog;
    }

    private double gap() {
        return poisson ? -gapNs * Math.log(1 - random.share()) : gapNs;
    }
}
