package steelyard;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.IntCountsHistogram;

/** What one client counts at one load point; written by its thread alone, read between stretches of load. */
final class Record {
    private static final int PARTS = 20;
    private static final int ERROR_KINDS_MAX = 100;
    static final long LONGEST_NS = 3_600_000_000_000L;

    /** An error code's count and its first message. */
    static final class Failures {
        long count;
        final String message;

        Failures(String message) {
            this.message = message;
        }

        Failures copy() {
            Failures same = new Failures(message);
            same.count = count;
            return same;
        }
    }

    /** By what is timed; null: none of it yet. Each grows with its longest value: 60 KiB where that is 16 ms. */
    final IntCountsHistogram[] histograms;
    /** By measured second, by what is timed: done, errors. */
    final List<long[][]> seconds = new ArrayList<>();
    final long[] kindDone;
    final long[] kindErrors;
    final long[] kindRetries;
    final long[] kindRolledBack;
    final String[] kindCode;
    final String[] kindMessage;
    /** By statement: see Executed. */
    final long[][] executed;
    final Map<String, Failures> errors = new TreeMap<>();
    long done;
    /** With those that run beside the others. */
    long clientDone;
    long failed;
    long sumNs;
    long firstHalf;
    /** Arrivals of an open loop that did not begin. */
    long backlog;
    /** When the first transaction began; 0: none did. */
    long beganNs;
    volatile long all;
    volatile long allErrors;

    /** Of the stretch of load, where it is not measured: transactions by part, latencies and their squares. */
    final long[] parts = new long[PARTS];
    double sumMs;
    double squaresMs2;

    private final Work work;
    private Window window = new Window(0, 0, 0);
    private long earlierNs;

    Record(Work work) {
        this.work = work;
        histograms = new IntCountsHistogram[work.timed.size()];
        int kinds = work.transactions.length;
        kindDone = new long[kinds];
        kindErrors = new long[kinds];
        kindRetries = new long[kinds];
        kindRolledBack = new long[kinds];
        kindCode = new String[kinds];
        kindMessage = new String[kinds];
        executed = new long[work.templates.length][Executed.SUMS];
    }

    /** What was counted until now, of a turn that may be repeated; not what is kept for one stretch of load. */
    Record copy() {
        Record same = new Record(work);
        for (int at = 0; at < histograms.length; at++) {
            same.histograms[at] = histograms[at] == null ? null : histograms[at].copy();
        }
        for (long[][] second : seconds) {
            same.seconds.add(Arrays.stream(second).map(long[]::clone).toArray(long[][]::new));
        }
        System.arraycopy(kindDone, 0, same.kindDone, 0, kindDone.length);
        System.arraycopy(kindErrors, 0, same.kindErrors, 0, kindErrors.length);
        System.arraycopy(kindRetries, 0, same.kindRetries, 0, kindRetries.length);
        System.arraycopy(kindRolledBack, 0, same.kindRolledBack, 0, kindRolledBack.length);
        System.arraycopy(kindCode, 0, same.kindCode, 0, kindCode.length);
        System.arraycopy(kindMessage, 0, same.kindMessage, 0, kindMessage.length);
        Arrays.setAll(same.executed, at -> executed[at].clone());
        errors.forEach((code, failures) -> same.errors.put(code, failures.copy()));
        same.done = done;
        same.clientDone = clientDone;
        same.failed = failed;
        same.sumNs = sumNs;
        same.firstHalf = firstHalf;
        same.backlog = backlog;
        same.beganNs = beganNs;
        same.all = all;
        same.allErrors = allErrors;
        same.window = window;
        same.earlierNs = earlierNs;
        return same;
    }

    void begin(Window next) {
        earlierNs += window.measuredNs();
        window = next;
        Arrays.fill(parts, 0);
        sumMs = 0;
        squaresMs2 = 0;
        while (seconds.size() * 1_000_000_000L < earlierNs + next.measuredNs()) {
            seconds.add(new long[work.timed.size()][2]);
        }
    }

    long measuredNs() {
        return earlierNs + window.measuredNs();
    }

    void timed(int number, long beginNs, long endNs) {
        if (window.measures(beginNs)) {
            second(beginNs)[number][0]++;
            took(number, endNs - beginNs);
        }
    }

    /** Where the statements of a transaction count that began then; null: it is not measured. */
    long[][] executed(long beginNs) {
        return window.measures(beginNs) ? executed : null;
    }

    void transactionDone(int kind, long beginNs, long endNs) {
        boolean background = work.transactions[kind].isBackground();
        beganNs = beganNs == 0 ? beginNs : beganNs;
        if (work.transactions[kind].timed >= 0) {
            timed(work.transactions[kind].timed, beginNs, endNs);
        }
        if (!background) {
            all++;
            timed(histograms.length - 1, beginNs, endNs);
        }
        if (window.measures(beginNs)) {
            kindDone[kind]++;
            clientDone++;
            sumNs += endNs - beginNs;
            if (!background) {
                done++;
                firstHalf += beginNs - window.measureNs() < window.endNs() - beginNs ? 1 : 0;
            }
        } else if (window.measuredNs() == 0 && !background) {
            profile(beginNs, endNs);
        }
    }

    /** An arrival for which no client was free until the end: its latency is what it had waited. */
    void neverBegan(long waitedNs) {
        if (window.measuredNs() > 0) {
            backlog++;
            took(histograms.length - 1, waitedNs);
        }
    }

    /** A transaction begins again, then: whenever it began first, that counts where its statements do. */
    void retried(int kind, long beginNs) {
        kindRetries[kind] += window.measures(beginNs) ? 1 : 0;
    }

    /** A transaction has rolled back as its steps say; it counts as done. */
    void rolledBack(int kind, long beginNs) {
        kindRolledBack[kind] += window.measures(beginNs) ? 1 : 0;
    }

    void transactionFailed(int kind, int statement, long beginNs, String code, String message) {
        boolean background = work.transactions[kind].isBackground();
        allErrors += background ? 0 : 1;
        if (!window.measures(beginNs)) {
            return;
        }
        long[][] second = second(beginNs);
        second[histograms.length - 1][1] += background ? 0 : 1;
        if (statement >= 0) {
            second[statement][1]++;
        }
        if (work.transactions[kind].timed >= 0) {
            second[work.transactions[kind].timed][1]++;
        }
        failed++;
        if (kindErrors[kind]++ == 0) {
            kindCode[kind] = code;
            kindMessage[kind] = message;
        }
        String counted = errors.containsKey(code) || errors.size() < ERROR_KINDS_MAX ? code : "other";
        errors.computeIfAbsent(counted, unseen -> new Failures(message)).count++;
    }

    /** Of the client's transactions; 0: none was measured. */
    long p99Ns() {
        for (int at = histograms.length - 1; at >= 0; at--) {
            if (histograms[at] != null) {
                return histograms[at].getValueAtPercentile(99);
            }
        }
        return 0;
    }

    private void took(int number, long ns) {
        if (histograms[number] == null) {
            histograms[number] = new IntCountsHistogram(3);
        }
        histograms[number].recordValue(Math.min(Math.max(ns, 1), LONGEST_NS));
    }

    private void profile(long beginNs, long endNs) {
        double latencyMs = (endNs - beginNs) / 1e6;
        sumMs += latencyMs;
        squaresMs2 += latencyMs * latencyMs;
        long part = (beginNs - window.startNs()) * PARTS / Math.max(1, window.endNs() - window.startNs());
        if (part >= 0 && part < PARTS) {
            parts[(int) part]++;
        }
    }

    private long[][] second(long beginNs) {
        return seconds.get((int) ((earlierNs + beginNs - window.measureNs()) / 1_000_000_000L));
    }
}
