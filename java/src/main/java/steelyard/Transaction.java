package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A kind of transaction: its statements in order, and the values that they share. */
final class Transaction {
    final String name;
    final double weight;
    final boolean begin;
    /** Numbers of its statements. */
    final int[] statements;
    /** Generators of the shared values, with their places. */
    final int[] places;
    final Source[] sources;
    final double keyingMs;
    final double thinkMs;
    final boolean exponential;
    /** Its number in what is timed; -1: it is not timed by itself. */
    int timed = -1;

    Transaction(JsonNode given, List<String> names, List<String> shared) {
        name = given.path("name").asText();
        if (!given.path("steps").isEmpty() || !given.path("takes").isEmpty()) {
            throw new PlanError("transactions." + name + ": steps need the native engine: remove workload.driver");
        }
        weight = given.path("weight").asDouble();
        begin = given.path("begin").asBoolean();
        keyingMs = given.path("keying_ms").asDouble();
        thinkMs = given.path("think_ms").asDouble();
        exponential = given.path("think").asText().equals("exponential");
        statements = new int[given.path("statements").size()];
        for (int at = 0; at < statements.length; at++) {
            statements[at] = names.indexOf(given.path("statements").get(at).asText());
        }
        Map<String, JsonNode> values = values(given);
        places = values.keySet().stream().mapToInt(shared::indexOf).toArray();
        sources = values.values().stream().map(Source::of).toArray(Source[]::new);
    }

    /** Generators by name, in the order in which they are drawn. */
    static Map<String, JsonNode> values(JsonNode transaction) {
        Map<String, JsonNode> values = new TreeMap<>();
        transaction.path("values").fields().forEachRemaining(one -> values.put(one.getKey(), one.getValue()));
        return values;
    }
}
