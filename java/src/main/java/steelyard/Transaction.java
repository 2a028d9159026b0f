package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** A kind of transaction: its statements in order, and the values that they share. */
final class Transaction {
    final String name;
    final double weight;
    final boolean begin;
    /** Messages that it waits for. */
    final List<Taking> takes;
    /** Names of the values that messages give. */
    final Set<String> received = new TreeSet<>();
    /** Clients that execute nothing else. */
    final int clients;
    /** A roll back undoes it, so that new connections may execute it before the load. */
    final boolean primes;
    /** In place of its statements; empty: it has none. */
    final JsonNode steps;
    /** Names of the shared values. */
    final Set<String> values;
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

    Transaction(JsonNode given, List<String> names, List<String> shared, Share share) {
        name = given.path("name").asText();
        takes = Taking.of(given, shared);
        Taking.names(given, received);
        clients = given.path("clients").asInt();
        primes = given.path("primes").asBoolean(true);
        steps = given.path("steps");
        weight = given.path("weight").asDouble();
        begin = given.path("begin").asBoolean();
        keyingMs = given.path("keying_ms").asDouble();
        thinkMs = given.path("think_ms").asDouble();
        exponential = given.path("think").asText().equals("exponential");
        statements = new int[given.path("statements").size()];
        for (int at = 0; at < statements.length; at++) {
            statements[at] = names.indexOf(given.path("statements").get(at).asText());
        }
        Map<String, JsonNode> generators = values(given);
        values = generators.keySet();
        places = values.stream().mapToInt(shared::indexOf).toArray();
        sources = generators.values().stream().map(one -> Source.of(one, share)).toArray(Source[]::new);
    }

    boolean begins() {
        return begin || !steps.findValues("do").stream().filter(one -> one.asText().equals("begin")).toList().isEmpty();
    }

    /** Whether it runs beside the others and is counted apart from them. */
    boolean isBackground() {
        return clients > 0 && takes.isEmpty();
    }

    /** Generators by name, in the order in which they are drawn. */
    static Map<String, JsonNode> values(JsonNode transaction) {
        Map<String, JsonNode> values = new TreeMap<>();
        transaction.path("values").fields().forEachRemaining(one -> values.put(one.getKey(), one.getValue()));
        return values;
    }
}
