package steelyard;

import com.fasterxml.jackson.databind.JsonNode;

/** Steps that give a value without the server. */
final class Assignment {
    private Assignment() {}

    /** Throws PlanError. */
    static Step of(JsonNode step, Names names) {
        int place = names.place(step.path("value").asText());
        return switch (step.path("do").asText()) {
            case "draw" -> drawn(step, names, place);
            case "pick" -> picked(step, names, place);
            case "name" -> named(step, names, place);
            default -> {
                Expression to = Expression.of(step.path("to"), names);
                yield client -> {
                    client.draw.values[place].set(to.evaluate(client.draw));
                    return true;
                };
            }
        };
    }

    private static Step drawn(JsonNode step, Names names, int place) {
        Source source = names.source(step.path("from"));
        Distinct distinct = step.path("distinct").isTextual() ? names.list(step.path("distinct").asText()) : null;
        return client -> {
            client.draw.value(place, source, distinct);
            return true;
        };
    }

    private static Step picked(JsonNode step, Names names, int place) {
        String[] texts = new String[step.path("from").size()];
        for (int at = 0; at < texts.length; at++) {
            texts[at] = step.path("from").get(at).asText();
        }
        Expression number = Expression.of(step.path("number"), names);
        return client -> {
            long found = number.evaluate(client.draw).whole();
            if (found < 1 || found > texts.length) {
                throw new StepError("there is no text " + found + " of " + texts.length);
            }
            client.draw.values[place].setText(texts[(int) found - 1]);
            return true;
        };
    }

    /** A prefix with a number after it, which has leading zeros. */
    private static Step named(JsonNode step, Names names, int place) {
        String prefix = step.path("prefix").asText();
        int digits = step.path("digits").asInt();
        Expression number = Expression.of(step.path("number"), names);
        StringBuilder text = new StringBuilder();
        return client -> {
            long found = number.evaluate(client.draw).whole();
            text.setLength(0);
            text.append(found);
            int at = found < 0 ? 1 : 0;
            while (text.length() < digits) {
                text.insert(at, '0');
            }
            client.draw.values[place].setText(text.insert(0, prefix).toString());
            return true;
        };
    }
}
