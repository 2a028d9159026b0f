package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverPropertyInfo;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Before the load: SQL that makes the data, then facts of server and driver. */
final class Preparation {
    private Preparation() {}

    /** version, driver, properties (name to value), facts (name to value). */
    static ObjectNode of(JsonNode jdbc) throws SQLException, Unreachable {
        Target target = new Target(jdbc);
        ObjectNode found = Lines.JSON.createObjectNode();
        try (Connection connection = connected(target); Statement statement = connection.createStatement()) {
            for (JsonNode sql : jdbc.path("statements")) {
                try {
                    statement.execute(sql.asText());
                } catch (SQLException error) {
                    throw new SQLException("`" + sql.asText().lines().findFirst().orElse("") + "`: "
                            + Client.brief(error), error.getSQLState(), error);
                }
            }
            DatabaseMetaData about = connection.getMetaData();
            found.put("version", about.getDatabaseProductName() + " " + about.getDatabaseProductVersion());
            found.put("driver", about.getDriverName() + " " + about.getDriverVersion());
            ObjectNode facts = found.putObject("facts");
            jdbc.path("facts").fields().forEachRemaining(one -> facts.put(one.getKey(), value(statement, one.getValue())));
        }
        ObjectNode properties = found.putObject("properties");
        for (DriverPropertyInfo one : target.listed()) {
            if (one.value != null && !one.name.toLowerCase(java.util.Locale.ROOT).contains("password")) {
                properties.put(one.name, one.value);
            }
        }
        return found;
    }

    private static Connection connected(Target target) throws Unreachable {
        try {
            return target.connect();
        } catch (SQLException error) {
            throw new Unreachable(Client.described(error));
        }
    }

    private static String value(Statement statement, JsonNode sql) {
        try (ResultSet rows = statement.executeQuery(sql.asText())) {
            return rows.next() ? rows.getString(1) : "no row";
        } catch (SQLException error) {
            return "not available: " + Client.brief(error);
        }
    }
}
