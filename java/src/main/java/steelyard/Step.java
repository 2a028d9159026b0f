package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** One step of a transaction, made ready for one client (crates/load/src/plan/steps.rs). */
interface Step {
    /** False: the transaction ends with it. Throws SQLException, StepError. */
    boolean run(Client client) throws SQLException;

    /** Most passes of one loop. */
    int PASSES_MAX = 10_000;
    double PAUSE_MS_MAX = 604_800e3;

    /** These steps, one after another. Throws PlanError. */
    static Step all(JsonNode given, Names names) {
        List<Step> found = new ArrayList<>();
        given.forEach(one -> found.add(of(one, names)));
        Step[] steps = found.toArray(Step[]::new);
        return client -> {
            for (Step step : steps) {
                if (!step.run(client)) {
                    return false;
                }
            }
            return true;
        };
    }

    private static Step of(JsonNode step, Names names) {
        return switch (step.path("do").asText()) {
            case "statement" -> statement(step, names);
            case "draw", "set", "pick", "name" -> Assignment.of(step, names);
            case "if" -> branch(step, names);
            case "loop" -> loop(step, names);
            case "wait" -> pause(step, names);
            case "send" -> message(step, names);
            case "begin" -> goesOn(Client::begin);
            case "commit" -> goesOn(Client::commit);
            case "rollback" -> client -> {
                client.rollBack();
                return false;
            };
            case "fail" -> {
                String message = step.path("message").asText();
                yield client -> {
                    throw new StepError(message);
                };
            }
            default -> throw new PlanError("a driver does not execute steps `" + step.path("do").asText() + "`");
        };
    }

    private static Step statement(JsonNode step, Names names) {
        int number = names.statement(step.path("name").asText());
        int[] needs = names.needs(number);
        Take take = Take.of(step, names);
        return client -> {
            for (int place : needs) {
                present(client, place, names);
            }
            client.statement(number, take);
            return true;
        };
    }

    /** Throws StepError: nothing has given it a value. */
    private static Value present(Client client, int place, Names names) {
        Value value = client.draw.values[place];
        if (value.kind == Value.Kind.MISSING) {
            throw new StepError("`:" + names.name(place) + "` has no value here");
        }
        return value;
    }

    private static Step message(JsonNode step, Names names) {
        String queue = step.path("queue").asText();
        if (!names.queues().has(queue)) {
            throw new PlanError("no transaction takes from `" + queue + "`");
        }
        int[] places = new int[step.path("values").size()];
        for (int at = 0; at < places.length; at++) {
            places[at] = names.place(step.path("values").get(at).asText());
        }
        Expression afterMs = Expression.of(step.path("after_ms"), names);
        return client -> {
            Value after = afterMs.evaluate(client.draw);
            double ms = after.isNull() ? 0 : after.asDouble();
            if (!(ms >= 0 && ms <= PAUSE_MS_MAX)) {
                throw new StepError("cannot send a message after " + ms + " ms");
            }
            Value[] values = new Value[places.length];
            for (int at = 0; at < places.length; at++) {
                values[at] = new Value();
                values[at].set(present(client, places[at], names));
            }
            // nobody is to take what is rolled back
            if (!client.draw.isAside()) {
                names.queues().send(queue, System.nanoTime() + (long) (ms * 1e6), values);
            }
            return true;
        };
    }

    private static Step branch(JsonNode step, Names names) {
        Expression condition = Expression.of(step.path("condition"), names);
        Step then = all(step.path("then"), names);
        Step otherwise = all(step.path("else"), names);
        return client -> (condition.evaluate(client.draw).isTrue() ? then : otherwise).run(client);
    }

    private static Step loop(JsonNode step, Names names) {
        Expression times = Expression.of(step.path("times"), names);
        int index = step.path("index").isTextual() ? names.place(step.path("index").asText()) : -1;
        Step steps = all(step.path("steps"), names);
        return client -> {
            long passes = times.evaluate(client.draw).whole();
            if (passes > PASSES_MAX) {
                throw new StepError("a loop has " + passes + " passes, more than " + PASSES_MAX);
            }
            if (index >= 0) {
                client.draw.values[index].set(1);
            }
            for (long pass = 1; pass <= passes; pass++) {
                if (index >= 0) {
                    client.draw.values[index].set(pass);
                }
                if (!steps.run(client)) {
                    return false;
                }
            }
            return true;
        };
    }

    private static Step pause(JsonNode step, Names names) {
        Expression ms = Expression.of(step.path("ms"), names);
        return client -> {
            double found = ms.evaluate(client.draw).asDouble();
            if (!(found >= 0 && found <= PAUSE_MS_MAX)) {
                throw new StepError("cannot wait " + found + " ms");
            }
            client.pause((long) (found * 1e6));
            return true;
        };
    }

    /** What a client does at a step, after which the next comes. */
    interface Action {
        void run(Client client) throws SQLException;
    }

    private static Step goesOn(Action action) {
        return client -> {
            action.run(client);
            return true;
        };
    }
}
