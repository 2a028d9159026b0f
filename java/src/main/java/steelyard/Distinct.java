package steelyard;

import java.util.Arrays;

/** Whole numbers that a transaction has drawn, none of them twice. */
final class Distinct {
    private long[] numbers = new long[16];
    private int count;

    /** Whether it was new. */
    boolean add(long number) {
        for (int at = 0; at < count; at++) {
            if (numbers[at] == number) {
                return false;
            }
        }
        if (count == numbers.length) {
            numbers = Arrays.copyOf(numbers, 2 * count);
        }
        numbers[count++] = number;
        return true;
    }

    void clear() {
        count = 0;
    }
}
