package steelyard;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What a statement returned, in a number that does not depend on the order of its rows: as of the native engine. */
final class Digest {
    private static final int COLUMNS_KEPT = 64;
    private static final int CHARACTERS_KEPT = 100;
    private static final double WHOLE_MAX = 1e15;
    private static final long FNV_OFFSET = 0xcbf29ce484222325L;
    private static final long FNV_PRIME = 0x100000001b3L;

    long sum;
    /** Values of the first row. */
    final List<String> first = new ArrayList<>();
    private long rows;
    private long hash = FNV_OFFSET;

    /** The next value of a row; null: NULL. */
    void value(String value) {
        if (rows == 0 && first.size() < COLUMNS_KEPT) {
            boolean fits = value == null || value.length() <= CHARACTERS_KEPT;
            first.add(fits ? value : value.substring(0, CHARACTERS_KEPT));
        }
        add(value == null ? 0 : 1);
        for (byte one : canonical(value == null ? "" : value).getBytes(StandardCharsets.UTF_8)) {
            add(one);
        }
    }

    void endRow() {
        sum += hash;
        hash = FNV_OFFSET;
        rows++;
    }

    private void add(int octet) {
        hash = (hash ^ (octet & 0xff)) * FNV_PRIME;
    }

    /** A number by its value, to six digits where it is not whole; a moment without an empty fraction of a second. */
    private static String canonical(String text) {
        if (text.matches("[0-9eE.+-]+")) {
            try {
                double number = Double.parseDouble(text);
                if (number == Math.rint(number) && Math.abs(number) < WHOLE_MAX) {
                    return Long.toString((long) number);
                } else if (Double.isFinite(number) && number != Math.rint(number)) {
                    String[] parts = String.format(Locale.ROOT, "%.5e", number).split("e");
                    return parts[0] + "e" + Integer.parseInt(parts[1]);
                }
            } catch (NumberFormatException noNumber) {
                // a date, or a telephone number
            }
        }
        return text.endsWith(".000000") ? text.substring(0, text.length() - ".000000".length()) : text;
    }
}
