package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What the steps of one transaction may name, and the lists of distinct values that they share. */
final class Names {
    private final Work work;
    private final Set<String> own;
    private final Map<String, Distinct> lists = new HashMap<>();

    /** own: names of the values that the transaction and its steps give. */
    Names(Work work, Set<String> own) {
        this.work = work;
        this.own = own;
    }

    /** Adds the names of the values that steps, or steps within them, give. */
    static void given(JsonNode steps, Set<String> names) {
        for (JsonNode step : steps) {
            step.path("take").fieldNames().forEachRemaining(names::add);
            for (String key : List.of("value", "index", "rows")) {
                if (step.path(key).isTextual()) {
                    names.add(step.path(key).asText());
                }
            }
            for (String key : List.of("then", "else", "steps")) {
                given(step.path(key), names);
            }
        }
    }

    /** The place of a value. Throws PlanError. */
    int place(String name) {
        int place = own.contains(name) ? work.shared.indexOf(name) : -1;
        if (place < 0) {
            throw new PlanError("no step gives `:" + name + "` a value");
        }
        return place;
    }

    /** The number of a statement. Throws PlanError. */
    int statement(String name) {
        for (int number = 0; number < work.templates.length; number++) {
            if (work.templates[number].name.equals(name)) {
                return number;
            }
        }
        throw new PlanError("no statement `" + name + "`");
    }

    /** Places of the values that a statement takes from the transaction. */
    int[] needs(int statement) {
        return work.templates[statement].shared;
    }

    /** The generator of a step: one for all clients, which share what it counts. Throws PlanError. */
    Source source(JsonNode generator) {
        return work.stepSources.computeIfAbsent(generator, of -> Source.of(of, work.share));
    }

    Queues queues() {
        return work.queues;
    }

    String name(int place) {
        return work.shared.get(place);
    }

    Distinct list(String name) {
        return lists.computeIfAbsent(name, unseen -> new Distinct());
    }

    List<Distinct> lists() {
        return List.copyOf(lists.values());
    }
}
