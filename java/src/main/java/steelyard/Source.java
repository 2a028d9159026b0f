package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.util.concurrent.atomic.AtomicLong;
import steelyard.Value.Kind;

/** A generator of values, ready to draw from; shared by all clients, each with its own random numbers. */
interface Source {
    void draw(SmallRandom random, Value value);

    /** The generator of a plan. Throws PlanError for a kind that it does not know. */
    static Source of(JsonNode generator, Share share) {
        String kind = generator.path("kind").asText();
        long low = generator.path("low").asLong();
        long high = generator.path("high").asLong();
        return switch (kind) {
            case "uniform" -> new Uniform(low, high, whole(low, high));
            case "zipf" -> Zipf.of(low, high, generator.path("exponent").asDouble());
            case "nurand" -> new NuRand(
                    generator.path("a").asLong(), low, high, generator.path("constant").asLong(), whole(low, high));
            case "sequence" -> new Counter(
                    share.counter(), generator.path("start").asLong(), generator.path("step").asLong(),
                    generator.hasNonNull("to") ? (Long) generator.path("to").asLong() : null, share);
            case "unique" -> new Counter(share.counter(), generator.path("start").asLong(1), 1, null, share);
            case "text" -> new Text(generator.path("length").asInt());
            case "choice" -> Choice.of(generator.path("values"));
            default -> throw new PlanError("no generator `" + kind + "`");
        };
    }

    /** The type that holds all of low to high: one type per parameter, or a driver would prepare it again. */
    static Kind whole(long low, long high) {
        return low >= Integer.MIN_VALUE && high <= Integer.MAX_VALUE ? Kind.INT : Kind.LONG;
    }

    record Uniform(long low, long high, Kind kind) implements Source {
        @Override
        public void draw(SmallRandom random, Value value) {
            value.kind = kind;
            value.number = random.range(low, high);
        }
    }

    /** Specification TPC-C, 2.1.6. */
    record NuRand(long a, long low, long high, long constant, Kind kind) implements Source {
        @Override
        public void draw(SmallRandom random, Value value) {
            long both = random.range(0, a) | random.range(low, high);
            value.kind = kind;
            value.number = Long.remainderUnsigned(both + constant, high - low + 1) + low;
        }
    }

    record Counter(AtomicLong next, long start, long step, Long to, Share share) implements Source {
        @Override
        public void draw(SmallRandom random, Value value) {
            count(false, value);
        }

        /** peeks: the number stays the next one. */
        void count(boolean peeks, Value value) {
            value.kind = Kind.LONG;
            value.number = start + step * share.number(peeks ? next.get() : next.getAndIncrement());
            if (to != null && (step > 0 ? value.number > to : value.number < to)) {
                value.setNull();
            }
        }
    }

    record Text(int length) implements Source {
        @Override
        public void draw(SmallRandom random, Value value) {
            char[] letters = new char[length];
            for (int at = 0; at < length; at++) {
                letters[at] = (char) ('a' + random.below(26));
            }
            value.kind = Kind.TEXT;
            value.text = new String(letters);
        }
    }

    record Choice(Value[] values) implements Source {
        static Choice of(JsonNode given) {
            Value[] values = new Value[given.size()];
            for (int at = 0; at < values.length; at++) {
                JsonNode node = given.get(at);
                Value value = new Value();
                value.text = node.asText();
                if (node.isNumber()) {
                    value.kind = Kind.DECIMAL;
                    value.decimal = new BigDecimal(value.text);
                } else {
                    value.kind = node.isBoolean() ? Kind.BOOLEAN : Kind.TEXT;
                }
                values[at] = value;
            }
            return new Choice(values);
        }

        @Override
        public void draw(SmallRandom random, Value value) {
            Value chosen = values[random.below(values.length)];
            value.kind = chosen.kind;
            value.text = chosen.text;
            value.decimal = chosen.decimal;
        }
    }
}
