package steelyard;

/**
 * Load that is not measured: for a time at least, then until the JVM is quiet, or a time is over. Quiet: in each of the
 * last two half seconds it compiled fewer methods per second than METHODS_PER_S, with less than SHARE of a CPU.
 * Both count: a large method takes seconds, and many small ones take little CPU.
 */
final class WarmUp {
    static final double METHODS_PER_S = 20;
    static final double SHARE = 0.05;
    private static final double LOOK_MS = 500;
    private static final int QUIET_LOOKS = 2;

    /** Load for so many milliseconds. */
    interface Load {
        void run(double lengthMs) throws InterruptedException;
    }

    /** How it ended: its length, methods compiled per second and the share of a CPU that this took in the last half second. */
    record End(double seconds, double methodsPerS, double share, boolean isQuiet) {}

    private final double leastMs;
    private final double mostMs;
    private final Compilation compilation = new Compilation();

    WarmUp(double leastMs, double mostMs) {
        this.leastMs = leastMs;
        this.mostMs = Math.max(leastMs, mostMs);
    }

    End run(Load load) throws InterruptedException {
        double warmedMs = 0;
        double methodsPerS = 0;
        double share = 0;
        int quiet = 0;
        while (warmedMs < leastMs || quiet < QUIET_LOOKS && warmedMs < mostMs) {
            double lengthMs = Math.min(LOOK_MS, (warmedMs < leastMs ? leastMs : mostMs) - warmedMs);
            long methods = compilation.methods();
            long ns = compilation.ns();
            load.run(lengthMs);
            warmedMs += lengthMs;
            methodsPerS = (compilation.methods() - methods) * 1000 / lengthMs;
            share = (compilation.ns() - ns) / (lengthMs * 1e6);
            quiet = methodsPerS < METHODS_PER_S && share < SHARE ? quiet + 1 : 0;
        }
        return new End(warmedMs / 1000, methodsPerS, share, quiet >= QUIET_LOOKS);
    }
}
