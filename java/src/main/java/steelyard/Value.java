package steelyard;

import java.math.BigDecimal;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/** A value of a parameter: drawn by a Source, bound with the type that its source has, or written as a literal. */
final class Value {
    enum Kind { INT, LONG, DECIMAL, BOOLEAN, TEXT }

    Kind kind = Kind.LONG;
    long number;
    /** The text as it is written, for kinds other than whole numbers. */
    String text = "";
    BigDecimal decimal = BigDecimal.ZERO;

    void bind(PreparedStatement statement, int index) throws SQLException {
        switch (kind) {
            case INT -> statement.setInt(index, (int) number);
            case LONG -> statement.setLong(index, number);
            case DECIMAL -> statement.setBigDecimal(index, decimal);
            case BOOLEAN -> statement.setBoolean(index, Boolean.parseBoolean(text));
            case TEXT -> statement.setString(index, text);
        }
    }

    /** As a literal of standard SQL; the same for every server, so a backslash must not be an escape. */
    void write(StringBuilder out) {
        switch (kind) {
            case INT, LONG -> out.append(number);
            case DECIMAL, BOOLEAN -> out.append(text);
            case TEXT -> {
                out.append('\'');
                for (int at = 0; at < text.length(); at++) {
                    char character = text.charAt(at);
                    out.append(character);
                    if (character == '\'') {
                        out.append(character);
                    }
                }
                out.append('\'');
            }
        }
    }
}
