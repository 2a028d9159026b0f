package steelyard;

import java.util.ArrayList;
import java.util.List;

/** Executions of statements and their rows, of one client: the same sums and marks as of the native engine. */
final class Executed {
    /** Of one statement: executions, those whose rows were counted, rows, executions without a row. */
    static final int SUMS = 4;

    /** By statement, measured or not. */
    private final long[][] all;
    /** By statement, by number of the mark: rows and executions without a row until then. */
    private final List<List<long[]>> marks = new ArrayList<>();
    private final boolean[] counts;
    /** Of the transaction under way: statement and rows of each execution; rows of -1: they have no number. */
    private final List<long[]> attempt = new ArrayList<>();

    Executed(Work work) {
        all = new long[work.templates.length][SUMS];
        counts = new boolean[all.length];
        for (int statement = 0; statement < all.length; statement++) {
            marks.add(new ArrayList<>());
            counts[statement] = work.templates[statement].counts;
        }
    }

    void begin() {
        attempt.clear();
    }

    void statement(int statement, long rows) {
        attempt.add(new long[] {statement, counts[statement] ? rows : -1});
    }

    /** The transaction is done. measured: the sums of a record, or null. */
    void done(long[][] measured) {
        for (long[] one : attempt) {
            int statement = (int) one[0];
            add(all[statement], one[1]);
            long executions = all[statement][0];
            int shift = Math.max(61 - Long.numberOfLeadingZeros(executions), 0);
            if ((executions & ((1L << shift) - 1)) == 0) {
                marks.get(statement).add(new long[] {executions, all[statement][2], all[statement][3]});
            }
            if (measured != null) {
                add(measured[statement], one[1]);
            }
        }
        attempt.clear();
    }

    /** By mark: execution, rows, executions without a row; none of a statement without a number of rows. */
    List<long[]> marks(int statement) {
        return counts[statement] ? marks.get(statement) : List.of();
    }

    private static void add(long[] sums, long rows) {
        sums[0]++;
        if (rows >= 0) {
            sums[1]++;
            sums[2] += rows;
            sums[3] += rows == 0 ? 1 : 0;
        }
    }
}
