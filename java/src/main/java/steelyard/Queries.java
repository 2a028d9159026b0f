package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Queries of the lab's monitors on one connection: each line of input is a request, each answer a line that
 * repeats its number. The first request has the driver and the URL. Values are sent as texts, as the driver
 * writes them.
 */
final class Queries {
    private static final int VALID_S = 1;

    private final Lines lines;
    private final BlockingQueue<String> requests = new LinkedBlockingQueue<>();
    private Connection connection;

    Queries(Lines lines) {
        this.lines = lines;
    }

    /** Answers requests until the input ends; then the process ends, also while a query waits. */
    void serve(InputStream in) throws IOException {
        Thread worker = new Thread(this::work, "queries");
        worker.setDaemon(true);
        worker.start();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                requests.add(line);
            }
        }
    }

    private void work() {
        while (true) {
            try {
                JsonNode request = Lines.JSON.readTree(requests.take());
                lines.say(answer(request).put("number", request.path("number").asInt()));
            } catch (IOException | InterruptedException ended) {
                return;
            }
        }
    }

    private ObjectNode answer(JsonNode request) {
        try {
            if (connection == null) {
                Target.load(request.path("jdbc"));
                connection = new Target(request.path("jdbc")).connect();
                return lines.event("connected");
            }
            return rows(request);
        } catch (SQLException | RuntimeException | Unreachable error) {
            return lines.event(lost() ? "lost" : "refused").put("cause", cause(error));
        }
    }

    private ObjectNode rows(JsonNode request) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout((int) Math.ceil(request.path("limit_s").asDouble()));
            statement.setMaxRows(request.path("rows").asInt());
            try (ResultSet rows = statement.executeQuery(request.path("sql").asText())) {
                ResultSetMetaData about = rows.getMetaData();
                ObjectNode found = lines.event("rows");
                ArrayNode columns = found.putArray("columns");
                for (int at = 1; at <= about.getColumnCount(); at++) {
                    columns.add(about.getColumnLabel(at));
                }
                ArrayNode values = found.putArray("rows");
                while (rows.next()) {
                    ArrayNode row = values.addArray();
                    for (int at = 1; at <= about.getColumnCount(); at++) {
                        row.add(rows.getString(at));
                    }
                }
                return found;
            }
        }
    }

    private boolean lost() {
        try {
            return connection == null || !connection.isValid(VALID_S);
        } catch (SQLException | AbstractMethodError unknown) {
            // drivers older than JDBC 4 cannot tell
            return false;
        }
    }

    private static String cause(Exception error) {
        String code = error instanceof SQLException sql ? " (" + Client.code(sql) + ")" : "";
        return Client.brief(error) + code;
    }
}
