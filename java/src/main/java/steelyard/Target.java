package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Where connections go: the URL and the driver's properties, as the plan's `jdbc` has them. */
final class Target {
    private static final int GRACE_S = 1;
    /** A driver that lists fewer does not list all: HSQLDB 6; jTDS 42, PGJDBC 81, Oracle's 227. */
    private static final int FULL_LIST = 20;
    /** Those of DriverManager, which not every driver lists. */
    private static final List<String> LOGIN = List.of("user", "password");

    final String url;
    final Properties properties = new Properties();
    private final int loginS;

    Target(JsonNode jdbc) {
        url = jdbc.path("url").asText();
        loginS = jdbc.path("login_s").asInt();
        DriverManager.setLoginTimeout(loginS);
        jdbc.path("properties").fields()
                .forEachRemaining(one -> properties.setProperty(one.getKey(), one.getValue().asText()));
    }

    /** Loads the driver's class where its jar does not announce it. Throws Unreachable. */
    static void load(JsonNode jdbc) throws Unreachable {
        String name = jdbc.path("driver_class").asText("");
        try {
            if (!name.isEmpty()) {
                Class.forName(name);
            }
        } catch (ClassNotFoundException missing) {
            throw new Unreachable("workload.driver_class: no class " + name + " in the driver's jar");
        }
    }

    /** Properties that the driver lists, with their values here; empty: it lists none. */
    DriverPropertyInfo[] listed() throws SQLException {
        DriverPropertyInfo[] listed = DriverManager.getDriver(url).getPropertyInfo(url, properties);
        return listed == null ? new DriverPropertyInfo[0] : listed;
    }

    /** Properties that were given and are missing in a full list: drivers ignore what they do not know. */
    List<String> unlisted() throws SQLException {
        Set<String> known = new HashSet<>(LOGIN);
        DriverPropertyInfo[] listed = listed();
        Arrays.stream(listed).forEach(one -> known.add(one.name));
        return properties.stringPropertyNames().stream()
                .filter(name -> listed.length >= FULL_LIST && !known.contains(name)).sorted().toList();
    }

    /** Throws SQLException: after login_s at the latest, also by a driver that knows no limit. */
    Connection connect() throws SQLException {
        Properties own = new Properties();
        own.putAll(properties);
        FutureTask<Connection> login = new FutureTask<>(() -> DriverManager.getConnection(url, own));
        Thread thread = new Thread(login, "login");
        thread.setDaemon(true);
        thread.start();
        try {
            // the driver's own error says more
            return login.get(loginS + GRACE_S, TimeUnit.SECONDS);
        } catch (TimeoutException silent) {
            throw new SQLTimeoutException("no answer to the login within " + loginS + " s", "08001");
        } catch (InterruptedException ended) {
            throw new SQLException("the login was interrupted", "08001", ended);
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof SQLException refused) {
                throw refused;
            }
            throw new SQLException("the driver failed: " + failed.getCause(), failed.getCause());
        }
    }
}
