package steelyard;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * CPU time of the measured load by group of threads, ns: clients; other threads of Java (a database's within this
 * process, a driver's, the engine's own); and the JVM itself (compiler, garbage collector).
 */
final class ThreadCpu {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final OperatingSystemMXBean PROCESS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private long clientsNs;
    private long othersNs;
    private long jvmNs;

    /** Of the thread that calls, since its start. */
    static long ownNs() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** Before a stretch of load, without its clients: add() needs it afterwards. */
    static long[] reading() {
        long sum = 0;
        for (long thread : THREADS.getAllThreadIds()) {
            // -1: it has ended
            sum += Math.max(0, THREADS.getThreadCpuTime(thread));
        }
        return new long[] {PROCESS.getProcessCpuTime(), sum};
    }

    /** clients: CPU of the threads that had the load; they have ended. */
    void add(long[] before, long clients) {
        long[] after = reading();
        long others = Math.max(0, after[1] - before[1]);
        clientsNs += clients;
        othersNs += others;
        jvmNs += Math.max(0, after[0] - before[0] - clients - others);
    }

    /** Those of the other. */
    void set(ThreadCpu other) {
        clientsNs = other.clientsNs;
        othersNs = other.othersNs;
        jvmNs = other.jvmNs;
    }

    /** By group, in the order of the class's comment; and begins anew. */
    long[] taken() {
        long[] found = {clientsNs, othersNs, jvmNs};
        clientsNs = 0;
        othersNs = 0;
        jvmNs = 0;
        return found;
    }
}
