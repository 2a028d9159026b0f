package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.Map;
import java.util.TreeMap;

/** Values that the rows of a statement give to the steps after it. */
final class Take {
    final boolean last;
    private final Map<String, Integer> places = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    /** Place of the number of rows; -1: it is not taken. */
    private final int rows;
    /** By column: the place that its value has; -1: none. */
    private int[] placeOf;
    private int[] types;

    private Take(JsonNode step, Names names) {
        step.path("take").fields()
                .forEachRemaining(one -> places.put(one.getValue().asText(), names.place(one.getKey())));
        last = step.path("row").asText("first").equals("last");
        rows = step.path("rows").isTextual() ? names.place(step.path("rows").asText()) : -1;
    }

    /** None where a step takes nothing. Throws PlanError. */
    static Take of(JsonNode step, Names names) {
        boolean takes = !step.path("take").isEmpty() || step.path("rows").isTextual();
        return takes ? new Take(step, names) : null;
    }

    void count(Draw draw, long found) {
        if (rows >= 0) {
            draw.values[rows].set(found);
        }
    }

    /** Puts the values of the present row into their places; a column that is not there leaves the value as it was. */
    void row(Draw draw, ResultSet result) throws SQLException {
        if (placeOf == null) {
            describe(result.getMetaData());
        }
        for (int at = 0; at < placeOf.length; at++) {
            if (placeOf[at] >= 0) {
                read(draw.values[placeOf[at]], result, at);
            }
        }
    }

    private void describe(ResultSetMetaData columns) throws SQLException {
        placeOf = new int[columns.getColumnCount()];
        types = new int[placeOf.length];
        for (int at = 0; at < placeOf.length; at++) {
            placeOf[at] = places.getOrDefault(columns.getColumnLabel(at + 1), -1);
            types[at] = columns.getColumnType(at + 1);
        }
    }

    private void read(Value value, ResultSet result, int at) throws SQLException {
        switch (types[at]) {
            case Types.TINYINT, Types.SMALLINT, Types.INTEGER, Types.BIGINT -> value.set(result.getLong(at + 1));
            case Types.REAL, Types.FLOAT, Types.DOUBLE -> value.set(result.getDouble(at + 1));
            case Types.BIT, Types.BOOLEAN -> value.set(result.getBoolean(at + 1));
            case Types.DECIMAL, Types.NUMERIC -> {
                var found = result.getBigDecimal(at + 1);
                if (found != null) {
                    value.setDecimal(found);
                }
            }
            case Types.DATE -> value.setTime(result.getObject(at + 1, LocalDate.class), result.getString(at + 1));
            case Types.TIMESTAMP -> value.setTime(result.getObject(at + 1, LocalDateTime.class), result.getString(at + 1));
            default -> value.setText(result.getString(at + 1));
        }
        if (result.wasNull()) {
            value.setNull();
        }
    }
}
