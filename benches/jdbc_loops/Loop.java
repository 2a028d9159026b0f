import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Closed loops of JDBC to compare the engine with. `prepare`: as general benchmark programs such as BenchBase do, a
 * statement prepared for each call, setObject, columns by name, a record of each latency. `kept`: the least that JDBC
 * takes, one statement per connection, no clock, no counters of latency. Arguments: loop, URL, clients, seconds of warm-up and of
 * measure, rows, then properties as NAME=VALUE. Prints the engine's events.
 */
public final class Loop {
    private static final String SQL = "select filler from item where id = ?";

    private record Latency(long startNs, long tookNs) {}

    private static volatile long read;
    private static volatile long measureNs;
    private static volatile long endNs = Long.MAX_VALUE;

    public static void main(String[] arguments) throws Exception {
        boolean kept = arguments[0].equals("kept");
        int clients = Integer.parseInt(arguments[2]);
        int rows = Integer.parseInt(arguments[5]);
        Properties properties = new Properties();
        for (int at = 6; at < arguments.length; at++) {
            String[] parts = arguments[at].split("=", 2);
            properties.setProperty(parts[0], parts[1]);
        }
        long[] counts = new long[clients];
        List<Thread> threads = new ArrayList<>();
        long startNs = System.nanoTime();
        measureNs = startNs + (long) (Double.parseDouble(arguments[3]) * 1e9);
        endNs = measureNs + (long) (Double.parseDouble(arguments[4]) * 1e9);
        for (int number = 0; number < clients; number++) {
            int client = number;
            Connection connection = DriverManager.getConnection(arguments[1], properties);
            Thread thread = new Thread(() -> {
                try (connection) {
                    counts[client] = kept ? kept(connection, rows) : prepared(connection, rows);
                } catch (SQLException error) {
                    error.printStackTrace();
                    System.exit(1);
                }
            });
            threads.add(thread);
            thread.start();
        }
        sleepUntil(measureNs);
        event("measure");
        sleepUntil(endNs);
        event("cool-down");
        long count = 0;
        for (int number = 0; number < clients; number++) {
            threads.get(number).join();
            count += counts[number];
        }
        System.out.println("{\"event\": \"result\", \"result\": {\"clients\": {\"transactions\": [" + count + "]}}}");
    }

    private static long prepared(Connection connection, int rows) throws SQLException {
        List<Latency> latencies = new ArrayList<>();
        while (true) {
            long beginNs = System.nanoTime();
            if (beginNs >= endNs) {
                return latencies.size();
            }
            try (PreparedStatement statement = connection.prepareStatement(SQL)) {
                statement.setObject(1, ThreadLocalRandom.current().nextInt(rows) + 1);
                try (ResultSet result = statement.executeQuery()) {
                    while (result.next()) {
                        read = result.getString("filler").length();
                    }
                }
            }
            if (beginNs >= measureNs) {
                latencies.add(new Latency(beginNs, System.nanoTime() - beginNs));
            }
        }
    }

    private static long kept(Connection connection, int rows) throws SQLException {
        long count = 0;
        try (PreparedStatement statement = connection.prepareStatement(SQL)) {
            while (true) {
                // once per transaction the loop has to know whether it goes on
                long nowNs = System.nanoTime();
                if (nowNs >= endNs) {
                    return count;
                }
                statement.setInt(1, ThreadLocalRandom.current().nextInt(rows) + 1);
                try (ResultSet result = statement.executeQuery()) {
                    while (result.next()) {
                        read = result.getString(1).length();
                    }
                }
                count += nowNs >= measureNs ? 1 : 0;
            }
        }
    }

    private static void event(String phase) {
        System.out.println("{\"event\": \"phase\", \"phase\": \"" + phase + "\"}");
        System.out.flush();
    }

    private static void sleepUntil(long momentNs) throws InterruptedException {
        for (long left = momentNs - System.nanoTime(); left > 0; left = momentNs - System.nanoTime()) {
            Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
        }
    }
}
