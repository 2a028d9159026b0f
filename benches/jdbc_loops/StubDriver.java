import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.Properties;
import java.util.logging.Logger;

/**
 * A driver without a server: each statement returns one row with one integer, and nothing is allocated for it. What a
 * client's thread allocates is the engine's own then; it is printed when the connection is closed.
 */
public final class StubDriver implements Driver {
    static {
        try {
            DriverManager.registerDriver(new StubDriver());
        } catch (SQLException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    @Override
    public Connection connect(String url, Properties properties) {
        return acceptsURL(url) ? new StubConnection() : null;
    }

    @Override
    public boolean acceptsURL(String url) {
        return url.startsWith("jdbc:stub:");
    }

    @Override
    public DriverPropertyInfo[] getPropertyInfo(String url, Properties properties) {
        return new DriverPropertyInfo[0];
    }

    @Override
    public int getMajorVersion() {
        return 1;
    }

    @Override
    public int getMinorVersion() {
        return 0;
    }

    @Override
    public boolean jdbcCompliant() {
        return false;
    }

    @Override
    public Logger getParentLogger() {
        return Logger.getGlobal();
    }
}

/** What a thread allocated and used in the last stretch of load, read each so many executions. */
final class Gauge {
    private static final int EVERY = 1 << 16;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private Thread owner;
    private long count;
    private long firstCount;
    private long firstBytes;
    private long lastBytes;
    private long firstNs;
    private long lastNs;

    void executed() {
        if (++count % EVERY == 0) {
            look();
        }
    }

    void print() {
        long counted = count / EVERY * EVERY - firstCount;
        System.err.println("allocated " + (lastBytes - firstBytes) + " cpu_ns " + (lastNs - firstNs)
                + " transactions " + counted);
    }

    private void look() {
        long bytes = THREADS.getCurrentThreadAllocatedBytes();
        long cpuNs = THREADS.getCurrentThreadCpuTime();
        if (Thread.currentThread() != owner) {
            owner = Thread.currentThread();
            firstCount = count;
            firstBytes = bytes;
            firstNs = cpuNs;
        }
        lastBytes = bytes;
        lastNs = cpuNs;
    }
}

final class StubConnection extends NoConnection {
    private final StubStatement statement = new StubStatement();

    @Override
    public Statement createStatement() {
        return statement;
    }

    @Override
    public PreparedStatement prepareStatement(String sql) {
        return statement;
    }

    @Override
    public void setAutoCommit(boolean on) {}

    @Override
    public void commit() {}

    @Override
    public boolean isClosed() {
        return false;
    }

    @Override
    public void close() {
        statement.gauge.print();
    }
}

final class StubStatement extends NoPreparedStatement {
    final Gauge gauge = new Gauge();
    private final StubResult result = new StubResult();

    @Override
    public boolean execute() {
        gauge.executed();
        result.left = 1;
        return true;
    }

    @Override
    public boolean execute(String sql) {
        return execute();
    }

    @Override
    public ResultSet getResultSet() {
        return result;
    }

    @Override
    public int getUpdateCount() {
        return -1;
    }

    @Override
    public boolean getMoreResults() {
        return false;
    }

    @Override
    public void setInt(int index, int value) {
        result.value = value;
    }

    @Override
    public void setString(int index, String value) {
        result.value = value.length();
    }

    @Override
    public void close() {}
}

final class StubResult extends NoResultSet {
    int left;
    int value;

    @Override
    public boolean next() {
        return left-- > 0;
    }

    @Override
    public int getInt(int column) {
        return value;
    }

    @Override
    public long getLong(int column) {
        return value;
    }

    @Override
    public ResultSetMetaData getMetaData() {
        return new OneInteger();
    }

    @Override
    public void close() {}
}

final class OneInteger extends NoResultSetMetaData {
    @Override
    public int getColumnCount() {
        return 1;
    }

    @Override
    public int getColumnType(int column) {
        return Types.INTEGER;
    }
}
