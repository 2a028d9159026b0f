package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A statement's text and where its values come from. The lab has cut it into text, parameters and tags, numbers
 * that make texts differ, by the lexical rules of the server.
 */
final class Template {
    final String name;
    /** Its executions return or change a number of rows. */
    final boolean counts;
    /** Generators of the statement's own values, with their places. */
    final int[] ownPlaces;
    final Source[] sources;
    /** Places of the values that a transaction gives. */
    final int[] shared;
    /** Place of the value of each `?`, in order; empty where values are literals. */
    final int[] bound;
    /** Its text where that is always the same; null: values or a tag make it differ. */
    final String constant;

    /** A backslash in a literal is written twice: the server reads it as an escape. */
    private final boolean escapes;
    /** Texts, with null for a tag and a place in `places` for a literal value. */
    private final List<String> pieces = new ArrayList<>();
    private final List<Integer> places = new ArrayList<>();

    Template(JsonNode statement, List<String> given, boolean binds, boolean escapes, Share share) {
        this.escapes = escapes;
        name = statement.path("name").asText();
        counts = statement.path("counts").asBoolean(true);
        Map<String, JsonNode> generators = new TreeMap<>();
        statement.path("parameters").fields().forEachRemaining(one -> generators.put(one.getKey(), one.getValue()));
        List<String> names = new ArrayList<>();
        List<Integer> occurrences = new ArrayList<>();
        for (JsonNode piece : statement.path("pieces")) {
            String text = piece.path(1).asText();
            switch (piece.path(0).asText()) {
                case "tag" -> add(null, -1);
                case "parameter" -> {
                    if (!names.contains(text)) {
                        names.add(text);
                    }
                    occurrences.add(names.indexOf(text));
                    add("", names.indexOf(text));
                }
                default -> add(text, -1);
            }
        }
        List<Source> own = new ArrayList<>();
        int[] placeOf = new int[names.size()];
        for (int at = 0; at < placeOf.length; at++) {
            JsonNode generator = generators.get(names.get(at));
            if (generator != null) {
                placeOf[at] = given.size() + own.size();
                own.add(Source.of(generator, share));
            } else if ((placeOf[at] = given.indexOf(names.get(at))) < 0) {
                throw new PlanError("statements." + name + ": `:" + names.get(at) + "` has no entry under parameters");
            }
        }
        shared = java.util.Arrays.stream(placeOf).filter(place -> place < given.size()).toArray();
        sources = own.toArray(Source[]::new);
        ownPlaces = new int[sources.length];
        for (int at = 0; at < ownPlaces.length; at++) {
            ownPlaces[at] = given.size() + at;
        }
        bound = binds ? occurrences.stream().mapToInt(number -> placeOf[number]).toArray() : new int[0];
        for (int at = 0; at < pieces.size(); at++) {
            int number = places.get(at);
            if (number >= 0) {
                pieces.set(at, binds ? "?" : "");
                places.set(at, binds ? -1 : placeOf[number]);
            }
        }
        boolean differs = pieces.contains(null) || places.stream().anyMatch(place -> place >= 0);
        constant = differs ? null : String.join("", pieces);
    }

    /** Appends the text of this tag, with values that are not bound as literals. */
    void write(long tag, Value[] values, StringBuilder out) {
        for (int at = 0; at < pieces.size(); at++) {
            String piece = pieces.get(at);
            if (places.get(at) >= 0) {
                values[places.get(at)].write(out, escapes);
            } else if (piece == null) {
                out.append(tag);
            } else {
                out.append(piece);
            }
        }
    }

    private void add(String text, int place) {
        pieces.add(text);
        places.add(place);
    }
}
