package steelyard;

import java.util.HashMap;
import java.util.Map;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import java.util.function.IntPredicate;
import java.util.function.LongBinaryOperator;

/** Functions of expressions, by the names that a plan gives them (crates/load/src/statements/functions.rs). */
record Function(int count, Body body) {
    /** Puts the result into `out` and returns it. Throws StepError. */
    interface Body {
        Value apply(Value[] a, SmallRandom random, Value out);
    }

    private static final Map<String, Function> ALL = new HashMap<>();

    static {
        arithmetic("add", Math::addExact, Double::sum);
        arithmetic("sub", Math::subtractExact, (a, b) -> a - b);
        arithmetic("mul", Math::multiplyExact, (a, b) -> a * b);
        arithmetic("div", Function::divided, (a, b) -> a / b);
        arithmetic("least", Math::min, Math::min);
        arithmetic("greatest", Math::max, Math::max);
        integers("mod", Function::remainder);
        integers("bit-and", (a, b) -> a & b);
        integers("bit-or", (a, b) -> a | b);
        integers("bit-xor", (a, b) -> a ^ b);
        integers("shift-left", (a, b) -> a << b);
        integers("shift-right", (a, b) -> a >> b);
        integers("hash-fnv1a", Hash::fnv1a);
        integers("hash-murmur2", Hash::murmur2);
        comparison("eq", order -> order == 0);
        comparison("ne", order -> order != 0);
        comparison("lt", order -> order < 0);
        comparison("le", order -> order <= 0);
        comparison("gt", order -> order > 0);
        comparison("ge", order -> order >= 0);
        ofDouble("double", a -> a);
        ofDouble("exp", Math::exp);
        ofDouble("ln", Math::log);
        ofDouble("sqrt", Math::sqrt);
        put("power", 2, (a, random, out) -> anyNull(a) ? out.setNull() : out.set(Math.pow(a[0].asDouble(), a[1].asDouble())));
        put("pi", 0, (a, random, out) -> out.set(Math.PI));
        put("bit-not", 1, (a, random, out) -> a[0].isNull() ? out.setNull() : out.set(~a[0].whole()));
        put("neg", 1, (a, random, out) -> sign(a[0], out, true));
        put("abs", 1, (a, random, out) -> sign(a[0], out, !a[0].isNull() && a[0].asDouble() < 0));
        put("not", 1, (a, random, out) -> a[0].isNull() ? out.setNull() : out.set(!a[0].truth()));
        put("int", 1, (a, random, out) -> a[0].isNull() ? out.setNull() : out.set(a[0].whole()));
        put("is-null", 1, (a, random, out) -> out.set(a[0].isNull()));
        put("is-true", 1, (a, random, out) -> out.set(a[0].isTrue()));
        put("is-false", 1, (a, random, out) -> out.set(!a[0].isNull() && !a[0].isTrue()));
        put("permute", 3, Function::permuted);
        Chance.FUNCTIONS.forEach((name, of) -> put(name, of.count, of.body));
    }

    /** Throws PlanError: no function of this name takes so many arguments. */
    static Function of(String name, int arguments) {
        Function found = ALL.get(name);
        if (found == null) {
            throw new PlanError("no function `" + name + "`");
        } else if (found.count != arguments) {
            throw new PlanError("`" + name + "` takes " + found.count + " arguments, not " + arguments);
        }
        return found;
    }

    Value apply(Value[] arguments, SmallRandom random, Value out) {
        return body.apply(arguments, random, out);
    }

    private static void put(String name, int count, Body body) {
        ALL.put(name, new Function(count, body));
    }

    private static boolean anyNull(Value[] a) {
        return a[0].isNull() || a.length > 1 && a[1].isNull();
    }

    private static boolean doubles(Value[] a) {
        return a[0].kind == Value.Kind.DOUBLE || a[1].kind == Value.Kind.DOUBLE;
    }

    /** Whole numbers that overflow are an error. NULL where an argument is. */
    private static void arithmetic(String name, LongBinaryOperator whole, DoubleBinaryOperator real) {
        put(name, 2, (a, random, out) -> {
            if (anyNull(a)) {
                return out.setNull();
            } else if (doubles(a)) {
                return out.set(real.applyAsDouble(a[0].asDouble(), a[1].asDouble()));
            }
            try {
                return out.set(whole.applyAsLong(a[0].whole(), a[1].whole()));
            } catch (ArithmeticException beyond) {
                throw new StepError("the result is out of the range of whole numbers");
            }
        });
    }

    private static void integers(String name, LongBinaryOperator of) {
        put(name, 2, (a, random, out) -> anyNull(a) ? out.setNull() : out.set(of.applyAsLong(a[0].whole(), a[1].whole())));
    }

    private static void ofDouble(String name, DoubleUnaryOperator of) {
        put(name, 1, (a, random, out) -> a[0].isNull() ? out.setNull() : out.set(of.applyAsDouble(a[0].asDouble())));
    }

    private static void comparison(String name, IntPredicate is) {
        put(name, 2, (a, random, out) -> {
            if (anyNull(a)) {
                return out.setNull();
            }
            boolean booleans = a[0].kind == Value.Kind.BOOLEAN && a[1].kind == Value.Kind.BOOLEAN;
            if (!booleans && doubles(a)) {
                double one = a[0].asDouble();
                double two = a[1].asDouble();
                // what is no number has no order
                return out.set(one == two ? is.test(0) : one < two ? is.test(-1) : one > two && is.test(1));
            }
            long one = booleans ? a[0].number : a[0].whole();
            return out.set(is.test(Long.compare(one, booleans ? a[1].number : a[1].whole())));
        });
    }

    private static long divided(long a, long b) {
        if (b == 0) {
            throw new StepError("division by zero");
        } else if (a == Long.MIN_VALUE && b == -1) {
            throw new ArithmeticException();
        }
        return a / b;
    }

    private static long remainder(long a, long b) {
        if (b == 0) {
            throw new StepError("division by zero");
        }
        return a % b;
    }

    private static Value sign(Value of, Value out, boolean changes) {
        if (of.isNull()) {
            return out.setNull();
        } else if (of.kind == Value.Kind.DOUBLE) {
            return out.set(changes ? -of.real : of.real);
        } else if (changes && of.whole() == Long.MIN_VALUE) {
            throw new StepError("the result is out of the range of whole numbers");
        }
        return out.set(changes ? -of.whole() : of.whole());
    }

    private static Value permuted(Value[] a, SmallRandom random, Value out) {
        long size = a[1].whole();
        if (size < 1) {
            throw new StepError("permute: the size must be above 0, and is " + size);
        }
        return out.set(Permutation.of(Math.floorMod(a[0].whole(), size), size, a[2].whole()));
    }
}
