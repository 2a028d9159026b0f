package steelyard;

import steelyard.Value.Kind;

/** Rejection from the inverse of a density above Zipf's (crate rand_distr 0.5, zipf.rs): the same draws. */
record Zipf(long low, long high, double exponent, double total, double inverse, Kind kind) implements Source {
    static Source of(long low, long high, double exponent) {
        double size = (double) high - (double) low + 1.0;
        double inverse = exponent == 1.0 ? 0.0 : 1.0 / (1.0 - exponent);
        double total = exponent == 1.0
                ? 1.0 + Math.log(size)
                : (Math.pow(size, 1.0 - exponent) - exponent) * inverse;
        return new Zipf(low, high, exponent, total, inverse, Source.whole(low, high));
    }

    @Override
    public void draw(SmallRandom random, Value value) {
        value.kind = kind;
        while (true) {
            double from = at(random.share());
            double rank = Math.floor(from + 1.0);
            double ratio = Math.pow(rank, -exponent);
            if (rank > 1.0) {
                ratio *= Math.pow(from, exponent);
            }
            if (random.share() < ratio) {
                value.number = Math.min(low + (long) rank - 1, high);
                return;
            }
        }
    }

    private double at(double share) {
        double part = share * total;
        if (part <= 1.0) {
            return part;
        }
        return exponent == 1.0 ? Math.exp(part - 1.0) : Math.pow(part * (1.0 - exponent) + exponent, inverse);
    }
}
