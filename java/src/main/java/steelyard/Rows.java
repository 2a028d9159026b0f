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
    /** Of all rows of the statement before, in a trial; else null. */
    Digest digest;

    /** Rows returned or changed. take: the values that its rows give; null: none. */
    long read(Statement statement, boolean hasRows, Take take, Draw draw) throws SQLException {
        digest = digest == null ? null : new Digest();
        boolean more = hasRows;
        long rows = 0;
        for (int changed = more ? 0 : statement.getUpdateCount(); more || changed != -1;) {
            if (more) {
                try (ResultSet result = statement.getResultSet()) {
                    rows += all(result, take, draw);
                }
            }
            // some drivers say that it is not known
            rows += Math.max(changed, 0);
            more = statement.getMoreResults();
            changed = more ? 0 : statement.getUpdateCount();
        }
        return rows;
    }

    private long all(ResultSet result, Take take, Draw draw) throws SQLException {
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
            if (digest != null) {
                for (int at = 1; at <= types.length; at++) {
                    digest.value(result.getString(at));
                }
                digest.endRow();
            }
            if (take != null && (rows == 1 || take.last)) {
                take.row(draw, result);
            }
        }
        if (take != null) {
            take.count(draw, rows);
        }
        return rows;
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
