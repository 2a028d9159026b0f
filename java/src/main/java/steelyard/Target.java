package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;

/** Where connections go: the URL and the driver's properties, as the plan's `jdbc` has them. */
final class Target {
    final String url;
    final Properties properties = new Properties();

    Target(JsonNode jdbc) {
        url = jdbc.path("url").asText();
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

    Connection connect() throws SQLException {
        Properties own = new Properties();
        own.putAll(properties);
        return DriverManager.getConnection(url, own);
    }
}
