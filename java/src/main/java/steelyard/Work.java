package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;

/** What all clients share: the plan made ready. Throws PlanError for what this engine does not have. */
final class Work {
    private static final int TIMED_KINDS_MAX = 64;

    enum Handle {
        /** A text with literals, executed by a Statement. */
        NONE,
        /** A PreparedStatement per connection and text, which stays open. */
        NAMED,
        /** A PreparedStatement for each execution: prepared, executed, closed. */
        PER_USE
    }

    final Share share;
    final Handle handle;
    final Template[] templates;
    final Transaction[] transactions;
    /** Messages between transactions. */
    final Queues queues;
    final int places;
    final String text;
    final int texts;
    final long seed;
    final boolean deck;
    /** How often a transaction is executed again after a serialization failure or a deadlock. */
    final int retries;
    /** Of an open loop; 0: the loop is closed. */
    final double ratePerS;
    final boolean poisson;
    final double thinkMs;
    final boolean thinkExponential;
    final boolean pauses;
    final double deadlineMs;
    final List<String> session = new ArrayList<>();
    final String turnEnd;
    /** Names of what is timed: statements, begin and commit, kinds of transactions, last the transaction. */
    final List<String> timed = new ArrayList<>();
    /** Number of `begin` in what is timed, before that of `commit`; -1: without. */
    final int control;
    /** Names of the values that transactions give, by place. */
    final List<String> shared;
    /** Generators of steps. */
    final Map<JsonNode, Source> stepSources = new IdentityHashMap<>();
    /** What expressions count time from. */
    final long beganNs = System.nanoTime();
    final AtomicLong nextTag = new AtomicLong();

    private final double weight;

    Work(JsonNode plan) {
        share = Share.of(plan);
        handle = switch (plan.path("handle").asText()) {
            case "none" -> Handle.NONE;
            case "named" -> Handle.NAMED;
            case "per-use" -> Handle.PER_USE;
            default -> throw new PlanError("workload.handle: by a driver it is none, named or per-use; whether the"
                    + " server keeps a statement is a property of the driver (prepareThreshold, useServerPrepStmts)");
        };
        JsonNode arrival = plan.path("arrival");
        String kind = arrival.path("kind").asText();
        if (!kind.equals("closed") && !kind.equals("open")) {
            throw new PlanError("workload.arrival: clients of a driver work in a closed or an open loop");
        }
        ratePerS = kind.equals("open") ? arrival.path("rate_per_s").asDouble() : 0;
        poisson = arrival.path("spacing").asText().equals("poisson");
        deck = plan.path("mix").asText("weights").equals("deck");
        retries = plan.path("retries").asInt();
        thinkMs = arrival.path("think_ms").asDouble();
        thinkExponential = arrival.path("think").asText().equals("exponential");
        text = plan.path("text").asText();
        texts = text.equals("distinct") ? plan.path("distinct_texts").asInt() : 1;
        if (text.equals("unique") && handle == Handle.NAMED) {
            throw new PlanError("workload.text: unique texts kept open would fill the driver; use handle per-use");
        }
        seed = plan.path("seed").asLong();
        deadlineMs = plan.path("deadline_ms").asDouble();
        turnEnd = plan.path("turn_end").asText();
        plan.path("session").forEach(one -> session.add(one.asText()));

        Set<String> given = new TreeSet<>();
        plan.path("transactions").forEach(one -> {
            given.addAll(Transaction.values(one).keySet());
            Names.given(one.path("steps"), given);
            Taking.names(one, given);
        });
        shared = List.copyOf(given);
        boolean binds = plan.path("parameters").asText().equals("client");
        JsonNode server = plan.path("server");
        boolean escapes = server.path("protocol").asText().equals("mysql") && server.path("escapes").asBoolean(true);
        List<Template> found = new ArrayList<>();
        plan.path("statements").forEach(one -> found.add(new Template(one, shared, binds, escapes, share)));
        templates = found.toArray(Template[]::new);
        places = shared.size() + found.stream().mapToInt(one -> one.sources.length).max().orElse(0);
        List<String> names = found.stream().map(one -> one.name).toList();
        List<Transaction> kinds = new ArrayList<>();
        plan.path("transactions").forEach(one -> kinds.add(new Transaction(one, names, shared, share)));
        transactions = kinds.toArray(Transaction[]::new);
        queues = new Queues(transactions);
        weight = kinds.stream().mapToDouble(one -> one.weight).sum();
        pauses = kinds.stream().anyMatch(one -> one.keyingMs > 0 || one.thinkMs > 0);

        timed.addAll(names);
        boolean begins = kinds.stream().anyMatch(Transaction::begins);
        control = begins && !names.contains("begin") && !names.contains("commit") ? timed.size() : -1;
        if (control >= 0) {
            timed.addAll(List.of("begin", "commit"));
        }
        if (kinds.size() > 1 && kinds.size() <= TIMED_KINDS_MAX) {
            for (Transaction one : transactions) {
                if (one.begin || one.statements.length != 1) {
                    one.timed = timed.size();
                    timed.add("transaction " + one.name);
                }
            }
        }
        timed.add("transaction");
    }

    /** The only transaction of a client that has one; -1: it executes the mix. */
    int ownOf(int client) {
        int before = 0;
        for (int number = 0; number < transactions.length; number++) {
            before += transactions[number].clients;
            if (client < before) {
                return number;
            }
        }
        return -1;
    }

    /** The transaction for a number of 0 to 1, by weight. */
    int drawn(double share) {
        double left = share * weight;
        double sum = 0;
        for (int number = 0; number < transactions.length; number++) {
            sum += transactions[number].weight;
            if (sum > left) {
                return number;
            }
        }
        return transactions.length - 1;
    }
}
