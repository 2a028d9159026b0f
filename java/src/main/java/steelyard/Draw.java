package steelyard;

import java.util.ArrayList;
import java.util.List;

/** What one client draws: its transactions, and texts and values of their statements, as the native engine does. */
final class Draw {
    /** Draws of a value that must differ from earlier ones, until it is an error. */
    private static final int ATTEMPTS_MAX = 10_000;

    final Value[] values;
    final int client;
    long tag;

    private final Work work;
    private final SmallRandom chance;
    private final SmallRandom texts;
    private final Deck deck;
    /** As it was when the transaction had its own values: it is executed again with the same ones. */
    private final SmallRandom kept = new SmallRandom(0);
    /** Counted numbers that were drawn since then, and how many of them have come again. */
    private final List<Value> counted = new ArrayList<>();
    private int repeated;
    /** Random numbers of the load, while others are drawn in their place; null: they are drawn. */
    private SmallRandom[] load;

    Draw(Work work, int client) {
        this.work = work;
        this.client = client;
        chance = SmallRandom.of(work.seed, client, 0);
        texts = SmallRandom.of(work.seed, client, 1);
        deck = work.deck ? new Deck(work.transactions) : null;
        values = new Value[work.places];
        for (int at = 0; at < values.length; at++) {
            values[at] = new Value();
        }
    }

    /** on: values that no load draws, of another sequence and without a number of a counter; then those of the load. */
    void aside(boolean on) {
        if (on) {
            load = new SmallRandom[] {new SmallRandom(0), new SmallRandom(0)};
            load[0].set(chance);
            load[1].set(texts);
            chance.set(SmallRandom.of(work.seed, client, 3));
            texts.set(chance);
        } else {
            chance.set(load[0]);
            texts.set(load[1]);
            load = null;
        }
    }

    boolean isAside() {
        return load != null;
    }

    int transaction() {
        return deck != null ? deck.next(chance) : work.drawn(chance.share());
    }

    /** The beginning of a transaction: the values that its statements share. */
    void begin(Transaction transaction, Body body) {
        counted.clear();
        repeated = 0;
        fill(transaction.places, transaction.sources);
        kept.set(chance);
        // these stay as they are when it is executed again
        counted.clear();
        repeated = 0;
        body.forget(this);
    }

    /** The same transaction again, with the same values. */
    void again(Body body) {
        chance.set(kept);
        repeated = 0;
        body.forget(this);
    }

    /** A use of a statement: which text it has, and the values of its own. */
    void statement(Template template) {
        tag = switch (work.text) {
            case "distinct" -> texts.range(0, work.texts - 1);
            case "unique" -> work.share.number(work.nextTag.getAndIncrement());
            default -> 0;
        };
        fill(template.ownPlaces, template.sources);
    }

    /** A value that a step draws; distinct: other than those of the list, where there is one. Throws StepError. */
    void value(int place, Source source, Distinct distinct) {
        for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
            one(place, source);
            Value value = values[place];
            if (value.kind == Value.Kind.INT) {
                // what other steps give it is LONG, and a parameter has one type
                value.kind = Value.Kind.LONG;
            }
            if (distinct == null) {
                return;
            } else if (value.kind != Value.Kind.LONG) {
                throw new StepError("only whole numbers can be drawn distinct");
            } else if (distinct.add(value.number)) {
                return;
            }
        }
        throw new StepError("no further distinct value was drawn: the generator has too few");
    }

    SmallRandom chance() {
        return chance;
    }

    long elapsedMs() {
        return (System.nanoTime() - work.beganNs) / 1_000_000;
    }

    private void fill(int[] places, Source[] sources) {
        for (int at = 0; at < sources.length; at++) {
            one(places[at], sources[at]);
        }
    }

    private void one(int place, Source source) {
        if (!(source instanceof Source.Counter counter)) {
            source.draw(chance, values[place]);
            return;
        }
        // all clients share a counter, which cannot be set back
        if (repeated < counted.size()) {
            values[place].set(counted.get(repeated));
        } else {
            counter.count(load != null, values[place]);
            Value copy = new Value();
            copy.set(values[place]);
            counted.add(copy);
        }
        repeated++;
    }
}
