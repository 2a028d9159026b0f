package steelyard;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** What a transaction does, made ready for one client: its statements, or its steps. */
final class Body {
    private final Step steps;
    /** Places of the values that steps give: none has one when a transaction begins. */
    private final int[] given;
    private final List<Distinct> lists;

    /** Throws PlanError. */
    Body(Transaction transaction, Work work) {
        Set<String> found = new TreeSet<>();
        Names.given(transaction.steps, found);
        given = found.stream().mapToInt(work.shared::indexOf).toArray();
        found.addAll(transaction.values);
        found.addAll(transaction.received);
        Names names = new Names(work, found);
        try {
            steps = whole(transaction, Step.all(transaction.steps, names));
        } catch (PlanError error) {
            throw new PlanError("transactions." + transaction.name + ".steps: " + error.getMessage());
        }
        lists = names.lists();
    }

    /** Statements or steps, between begin and commit where the transaction says so. */
    private static Step whole(Transaction transaction, Step inner) {
        return client -> {
            if (transaction.begin) {
                client.begin();
            }
            for (int statement : transaction.statements) {
                client.statement(statement, null);
            }
            if (!inner.run(client)) {
                return false;
            }
            if (transaction.begin) {
                client.commit();
            }
            return true;
        };
    }

    Step steps() {
        return steps;
    }

    /** What steps have given is gone. */
    void forget(Draw draw) {
        for (int place : given) {
            draw.values[place].kind = Value.Kind.MISSING;
        }
        lists.forEach(Distinct::clear);
    }
}
