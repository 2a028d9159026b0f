package steelyard;

import java.util.Map;

/** Functions of expressions that draw: pgbench's, with the random numbers of the native engine. */
final class Chance {
    static final Map<String, Function> FUNCTIONS = Map.of(
            "random", new Function(2, Chance::uniform),
            "random-gaussian", new Function(3, Chance::gaussian),
            "random-exponential", new Function(3, Chance::exponential),
            "random-zipfian", new Function(3, Chance::zipfian));

    private Chance() {}

    private static Value uniform(Value[] a, SmallRandom random, Value out) {
        check("random", a);
        return out.set(random.range(a[0].whole(), a[1].whole()));
    }

    private static Value gaussian(Value[] a, SmallRandom random, Value out) {
        check("random_gaussian", a);
        double parameter = parameter("random_gaussian", a[2], 2.0, Double.MAX_VALUE);
        // Box and Muller, drawn again beyond the parameter's number of standard deviations
        double deviation;
        do {
            double radius = Math.sqrt(-2.0 * Math.log(1.0 - random.share()));
            deviation = radius * Math.sin(2.0 * Math.PI * random.share());
        } while (deviation < -parameter || deviation >= parameter);
        return within(a, (deviation + parameter) / (2.0 * parameter), out);
    }

    private static Value exponential(Value[] a, SmallRandom random, Value out) {
        check("random_exponential", a);
        double parameter = parameter("random_exponential", a[2], Double.MIN_NORMAL, Double.MAX_VALUE);
        double cut = Math.exp(-parameter);
        return within(a, -Math.log(cut + (1.0 - cut) * (1.0 - random.share())) / parameter, out);
    }

    private static Value zipfian(Value[] a, SmallRandom random, Value out) {
        check("random_zipfian", a);
        double parameter = parameter("random_zipfian", a[2], 1.001, 1000.0);
        Zipf.of(a[0].whole(), a[1].whole(), parameter).draw(random, out);
        return out.set(Math.min(Math.max(out.number, a[0].whole()), a[1].whole()));
    }

    private static void check(String name, Value[] a) {
        long low = a[0].whole();
        long high = a[1].whole();
        if (low > high) {
            throw new StepError(name + ": the lower bound " + low + " is above the upper bound " + high);
        }
        // the number of values must be a whole number of 64 bits
        if (high - low < 0 || high - low == Long.MAX_VALUE) {
            throw new StepError(name + ": the range " + low + " to " + high + " is too large");
        }
    }

    private static double parameter(String name, Value value, double least, double most) {
        double found = value.asDouble();
        if (!(found >= least && found <= most)) {
            throw new StepError(name + ": the parameter " + found + " is not within " + least + " to " + most);
        }
        return found;
    }

    /** The whole number at a share, 0 to 1, of low to high. */
    private static Value within(Value[] a, double share, Value out) {
        long low = a[0].whole();
        long high = a[1].whole();
        double offset = ((double) high - (double) low + 1.0) * share;
        return out.set(Math.min(high, low + (long) Math.min(offset, (double) (high - low))));
    }
}
