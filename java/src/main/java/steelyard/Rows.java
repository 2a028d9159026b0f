package steelyard;

import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;

/** Reads all that a statement returns, each column by its index with a getter of its type. */
final class Rows {
    private int[] types;
    /** What was read, so that it is not removed as unused. */
    private long read;

    /** take: the values that its rows give; null: none. */
    void read(Statement statement, boolean hasRows, Take take, Draw draw) throws SQLException {
        boolean more = hasRows;
        while (more || statement.getUpdateCount() != -1) {
            if (more) {
                try (ResultSet result = statement.getResultSet()) {
                    all(result, take, draw);
                }
            }
            more = statement.getMoreResults();
        }
    }

    private void all(ResultSet result, Take take, Draw draw) throws SQLException {
        if (types == null) {
            ResultSetMetaData columns = result.getMetaData();
            types = new int[columns.getColumnCount()];
            for (int at = 0; at < types.length; at++) {
                types[at] = columns.getColumnType(at + 1);
            }
        }
        long rows = 0;
        while (result.next()) {
            for (int at = 0; at < types.length; at++) {
                read += switch (types[at]) {
                    case Types.TINYINT, Types.SMALLINT, Types.INTEGER, Types.BIGINT -> result.getLong(at + 1);
                    case Types.REAL, Types.FLOAT, Types.DOUBLE -> (long) result.getDouble(at + 1);
                    case Types.BINARY, Types.VARBINARY, Types.LONGVARBINARY -> length(result.getBytes(at + 1));
                    default -> length(result.getString(at + 1));
                };
            }
            rows++;
            if (take != null && (rows == 1 || take.last)) {
                take.row(draw, result);
            }
        }
        if (take != null) {
            take.count(draw, rows);
        }
    }

    long read() {
        return read;
    }

    private static long length(String text) {
        return text == null ? 0 : text.length();
    }

    private static long length(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }
}
