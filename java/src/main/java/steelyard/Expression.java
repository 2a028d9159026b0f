package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/**
 * An expression of a plan, made ready for one client: its nodes keep their results, so evaluating allocates nothing.
 * Its forms are those of the native engine (crates/load/src/plan/steps.rs).
 */
interface Expression {
    /** NULL, LONG, DOUBLE or BOOLEAN; valid until the next evaluation. Throws StepError. */
    Value evaluate(Draw draw);

    /** Throws PlanError. */
    static Expression of(JsonNode json, Names names) {
        if (json.isTextual()) {
            return named(names.place(json.asText()), json.asText());
        } else if (json.isArray()) {
            return call(json, names);
        } else if (json.isObject()) {
            throw new PlanError("an expression is a number, a name or a list");
        }
        Value constant = new Value().setNull();
        if (json.isBoolean()) {
            constant.set(json.asBoolean());
        } else if (json.canConvertToLong() && json.isIntegralNumber()) {
            constant.set(json.asLong());
        } else if (json.isNumber()) {
            constant.set(json.asDouble());
        }
        return draw -> constant;
    }

    private static Expression named(int place, String name) {
        Value parsed = new Value();
        return draw -> {
            try {
                return draw.values[place].scalar(parsed);
            } catch (StepError error) {
                throw new StepError("`:" + name + "`: " + error.getMessage());
            }
        };
    }

    private static Expression call(JsonNode json, Names names) {
        List<Expression> found = new ArrayList<>();
        for (int at = 1; at < json.size(); at++) {
            found.add(of(json.get(at), names));
        }
        Expression[] parts = found.toArray(Expression[]::new);
        String name = json.path(0).asText();
        Value result = new Value();
        return switch (name) {
            case "client" -> draw -> result.set((long) draw.client);
            case "elapsed-ms" -> draw -> result.set(draw.elapsedMs());
            case "case" -> chosen(parts);
            case "and" -> chained(parts, false);
            case "or" -> chained(parts, true);
            default -> applied(Function.of(name, parts.length), parts);
        };
    }

    private static Expression applied(Function function, Expression[] parts) {
        Value[] arguments = new Value[parts.length];
        Value result = new Value();
        return draw -> {
            for (int at = 0; at < parts.length; at++) {
                arguments[at] = parts[at].evaluate(draw);
            }
            return function.apply(arguments, draw.chance(), result);
        };
    }

    /** Conditions and results in turn; last, if the number is odd, the result of none. NULL without it. */
    private static Expression chosen(Expression[] parts) {
        Value none = new Value().setNull();
        return draw -> {
            int at = 0;
            for (; at + 1 < parts.length; at += 2) {
                if (parts[at].evaluate(draw).isTrue()) {
                    return parts[at + 1].evaluate(draw);
                }
            }
            return at < parts.length ? parts[at].evaluate(draw) : none;
        };
    }

    /** Three-valued: the first part that decides ends it; without one, NULL where a part is. */
    private static Expression chained(Expression[] parts, boolean decides) {
        Value result = new Value();
        return draw -> {
            boolean unknown = false;
            for (Expression part : parts) {
                Value value = part.evaluate(draw);
                if (value.isNull()) {
                    unknown = true;
                } else if (value.truth() == decides) {
                    return result.set(decides);
                }
            }
            return unknown ? result.setNull() : result.set(!decides);
        };
    }
}
