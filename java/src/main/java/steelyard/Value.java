package steelyard;

import java.math.BigDecimal;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Types;
import java.util.Locale;

/**
 * A value of a parameter: drawn by a Source, computed by an Expression, or taken from a row; bound with its type, or
 * written as a literal. Also what expressions compute with: then it is NULL, LONG, DOUBLE or BOOLEAN.
 */
final class Value {
    /** MISSING: nothing has given it a value yet. */
    enum Kind { MISSING, NULL, INT, LONG, DOUBLE, DECIMAL, BOOLEAN, TEXT, TIME }

    private static final double BEYOND_LONG = 0x1.0p63;

    Kind kind = Kind.LONG;
    /** Whole numbers; of BOOLEAN, 1 for true. */
    long number;
    double real;
    /** A date or a timestamp that a row gave: servers compare it with no text. */
    Object time;
    /** The text as it is written, of DECIMAL, BOOLEAN, TEXT and TIME. */
    String text = "";
    BigDecimal decimal = BigDecimal.ZERO;

    void set(Value other) {
        kind = other.kind;
        number = other.number;
        real = other.real;
        text = other.text;
        decimal = other.decimal;
        time = other.time;
    }

    Value setNull() {
        kind = Kind.NULL;
        return this;
    }

    Value set(long whole) {
        kind = Kind.LONG;
        number = whole;
        return this;
    }

    Value set(double given) {
        kind = Kind.DOUBLE;
        real = given;
        return this;
    }

    Value set(boolean truth) {
        kind = Kind.BOOLEAN;
        number = truth ? 1 : 0;
        text = truth ? "true" : "false";
        return this;
    }

    void setText(String given) {
        kind = Kind.TEXT;
        text = given;
    }

    void setTime(Object given, String written) {
        kind = Kind.TIME;
        time = given;
        text = written;
    }

    void setDecimal(BigDecimal given) {
        kind = Kind.DECIMAL;
        decimal = given;
        text = given.toPlainString();
    }

    boolean isNull() {
        return kind == Kind.NULL || kind == Kind.MISSING;
    }

    /** Of a condition; a number is true unless it is 0, NULL is not true. */
    boolean isTrue() {
        return switch (kind) {
            case INT, LONG, BOOLEAN -> number != 0;
            case DOUBLE -> real != 0;
            default -> false;
        };
    }

    /** An operand of `and`, `or`, `not`, which take no number. Throws StepError. */
    boolean truth() {
        if (kind != Kind.BOOLEAN) {
            throw new StepError(kind == Kind.NULL ? "NULL is not a boolean" : "a number is not a boolean");
        }
        return number != 0;
    }

    /** As a whole number; a double is rounded to the nearest. Throws StepError. */
    long whole() {
        if (kind == Kind.LONG || kind == Kind.INT) {
            return number;
        }
        double rounded = Math.rint(asDouble());
        if (!(rounded >= -BEYOND_LONG && rounded < BEYOND_LONG)) {
            throw new StepError(real + " is out of the range of whole numbers");
        }
        return (long) rounded;
    }

    /** As a double. Throws StepError. */
    double asDouble() {
        return switch (kind) {
            case INT, LONG -> number;
            case DOUBLE -> real;
            case BOOLEAN -> throw new StepError("a boolean is not a number");
            default -> throw new StepError("NULL is not a number");
        };
    }

    /** What an expression computes with: this, or the number or boolean that a text is, in `parsed`. */
    Value scalar(Value parsed) {
        return switch (kind) {
            case MISSING -> throw new StepError("no statement has given it a value");
            case DECIMAL, TEXT, TIME -> parsed.parse(text.strip());
            default -> this;
        };
    }

    private Value parse(String of) {
        try {
            return set(Long.parseLong(of));
        } catch (NumberFormatException notWhole) {
            // a double, or a boolean as servers write them
        }
        try {
            double found = Double.parseDouble(of);
            if (Double.isFinite(found)) {
                return set(found);
            }
        } catch (NumberFormatException noNumber) {
            // a boolean
        }
        return switch (of.toLowerCase(Locale.ROOT)) {
            case "t", "true", "yes", "on" -> set(true);
            case "f", "false", "no", "off" -> set(false);
            default -> throw new StepError("`" + of + "` is not a number");
        };
    }

    void bind(PreparedStatement statement, int index) throws SQLException {
        switch (kind) {
            case MISSING, NULL -> statement.setNull(index, Types.NULL);
            case INT -> statement.setInt(index, (int) number);
            case LONG -> statement.setLong(index, number);
            // exact beside decimals: a double would make the server compute with doubles
            case DOUBLE -> statement.setBigDecimal(index, new BigDecimal(plain()));
            case DECIMAL -> statement.setBigDecimal(index, decimal);
            case BOOLEAN -> statement.setBoolean(index, text.equals("true"));
            case TEXT -> statement.setString(index, text);
            case TIME -> statement.setObject(index, time);
        }
    }

    /** As a literal of standard SQL; the same for every server, so a backslash must not be an escape. */
    void write(StringBuilder out, boolean escapes) {
        switch (kind) {
            case MISSING, NULL -> out.append("null");
            case INT, LONG -> out.append(number);
            case DOUBLE -> out.append(plain());
            case DECIMAL, BOOLEAN -> out.append(text);
            case TEXT, TIME -> {
                out.append('\'');
                for (int at = 0; at < text.length(); at++) {
                    char character = text.charAt(at);
                    out.append(character);
                    if (character == '\'' || escapes && character == '\\') {
                        out.append(character);
                    }
                }
                out.append('\'');
            }
        }
    }

    /** A double without an exponent, as the native engine writes it. Throws StepError. */
    private String plain() {
        if (!Double.isFinite(real)) {
            throw new StepError(real + " is not a number that SQL has");
        }
        String found = new BigDecimal(Double.toString(real)).toPlainString();
        return found.endsWith(".0") ? found.substring(0, found.length() - 2) : found;
    }
}
