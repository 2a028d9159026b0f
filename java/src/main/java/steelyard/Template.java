package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A statement's text and where its values come from: `:name` is a parameter, unless it is in quotes, in a comment
 * or part of a cast; `{tag}` becomes a number that makes texts differ.
 */
final class Template {
    private static final String TAG = "{tag}";

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

    /** Texts, with null for a tag and a place in `places` for a literal value. */
    private final List<String> pieces = new ArrayList<>();
    private final List<Integer> places = new ArrayList<>();

    Template(JsonNode statement, List<String> given, boolean binds, Share share) {
        name = statement.path("name").asText();
        counts = statement.path("counts").asBoolean(true);
        Map<String, JsonNode> generators = new TreeMap<>();
        statement.path("parameters").fields().forEachRemaining(one -> generators.put(one.getKey(), one.getValue()));
        List<String> names = new ArrayList<>();
        List<Integer> occurrences = new ArrayList<>();
        parse(statement.path("sql").asText(), names, occurrences);
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
                values[places.get(at)].write(out);
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

    private void parse(String sql, List<String> names, List<Integer> occurrences) {
        int begin = 0;
        int at = 0;
        char quote = 0;
        while (at < sql.length()) {
            char character = sql.charAt(at);
            if (sql.startsWith(TAG, at)) {
                add(sql.substring(begin, at), -1);
                add(null, -1);
                at += TAG.length();
                begin = at;
            } else if (quote != 0 || character == '\'' || character == '"') {
                quote = quote == 0 ? character : quote == character ? 0 : quote;
                at++;
            } else if (sql.startsWith("--", at)) {
                int end = sql.indexOf('\n', at);
                at = end < 0 ? sql.length() : end;
            } else if (sql.startsWith("/*", at)) {
                int end = sql.indexOf("*/", at);
                at = end < 0 ? sql.length() : end + 2;
            } else if (sql.startsWith("::", at)) {
                at += 2;
            } else if (character == ':' && at + 1 < sql.length() && isName(sql.charAt(at + 1), true)) {
                int end = at + 1;
                while (end < sql.length() && isName(sql.charAt(end), false)) {
                    end++;
                }
                String found = sql.substring(at + 1, end);
                if (!names.contains(found)) {
                    names.add(found);
                }
                int number = names.indexOf(found);
                add(sql.substring(begin, at), -1);
                add("", number);
                occurrences.add(number);
                at = end;
                begin = end;
            } else {
                at++;
            }
        }
        add(sql.substring(begin), -1);
    }

    private static boolean isName(char character, boolean first) {
        boolean letter = character >= 'a' && character <= 'z' || character >= 'A' && character <= 'Z';
        return letter || character == '_' || !first && character >= '0' && character <= '9';
    }
}
