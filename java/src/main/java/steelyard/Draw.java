package steelyard;

/** What one client draws: its transactions, and texts and values of their statements, as the native engine does. */
final class Draw {
    final Value[] values;
    long tag;

    private final Work work;
    private final SmallRandom chance;
    private final SmallRandom texts;

    Draw(Work work, int client) {
        this.work = work;
        chance = SmallRandom.of(work.seed, client, 0);
        texts = SmallRandom.of(work.seed, client, 1);
        values = new Value[work.places];
        for (int at = 0; at < values.length; at++) {
            values[at] = new Value();
        }
    }

    int transaction() {
        return work.drawn(chance.share());
    }

    /** The beginning of a transaction: the values that its statements share. */
    void begin(Transaction transaction) {
        fill(transaction.places, transaction.sources);
    }

    /** A use of a statement: which text it has, and the values of its own. */
    void statement(Template template) {
        tag = switch (work.text) {
            case "distinct" -> texts.range(0, work.texts - 1);
            case "unique" -> work.nextTag.getAndIncrement();
            default -> 0;
        };
        fill(template.ownPlaces, template.sources);
    }

    private void fill(int[] places, Source[] sources) {
        for (int at = 0; at < sources.length; at++) {
            sources[at].draw(chance, values[places[at]]);
        }
    }
}
