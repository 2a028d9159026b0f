package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Messages that a transaction takes from a queue. places: of the values, by message. least: without so many it does not begin. */
record Taking(String queue, int[][] places, int least) {
    /** Of a transaction of the plan. shared: names of values, by place. */
    static List<Taking> of(JsonNode transaction, List<String> shared) {
        List<Taking> found = new ArrayList<>();
        for (JsonNode one : transaction.path("takes")) {
            int[][] places = new int[one.path("count").asInt(1)][one.path("into").size()];
            for (int message = 0; message < places.length; message++) {
                for (int value = 0; value < places[message].length; value++) {
                    places[message][value] = shared.indexOf(name(one, message, value));
                }
            }
            found.add(new Taking(one.path("queue").asText(), places, one.path("least").asInt(1)));
        }
        return found;
    }

    /** Adds the names of the values that messages give. */
    static void names(JsonNode transaction, Set<String> names) {
        for (JsonNode one : transaction.path("takes")) {
            for (int message = 0; message < one.path("count").asInt(1); message++) {
                for (int value = 0; value < one.path("into").size(); value++) {
                    names.add(name(one, message, value));
                }
            }
        }
    }

    /** Of several messages with the message's number after the name. */
    private static String name(JsonNode taking, int message, int value) {
        String name = taking.path("into").get(value).asText();
        return taking.path("count").asInt(1) == 1 ? name : name + (message + 1);
    }
}
