package steelyard;

import java.sql.SQLException;

/**
 * Before the load of a new connection: a client executes its transactions as often as its handle needs, rolled back,
 * with values that no load draws. A driver prepares a statement after some executions, a server plans it anew for some.
 */
final class Priming extends RolledBack {
    private final Work work;

    Priming(Client of, Work work) {
        super(of, work);
        this.work = work;
    }

    /** False: not all was executed before the limit. Throws SQLException where the connection is gone. */
    boolean run(int times, long limitNs) throws SQLException {
        draw.aside(true);
        try {
            for (int kind = 0; kind < work.transactions.length; kind++) {
                Transaction one = work.transactions[kind];
                boolean mine = own < 0 ? one.clients == 0 : own == kind;
                if (!one.primes || !mine || !one.takes.isEmpty()) {
                    continue;
                }
                for (int time = 0; time < times; time++) {
                    if (System.nanoTime() >= limitNs) {
                        return false;
                    }
                    once(kind);
                }
            }
        } finally {
            draw.aside(false);
        }
        return true;
    }

    private void once(int kind) throws SQLException {
        session.begin();
        try {
            draw.begin(work.transactions[kind], bodies[kind]);
            bodies[kind].steps().run(this);
        } catch (Ended rolledBack) {
            // nothing follows
        } catch (SQLException | RuntimeException error) {
            // the load will say so
            if (!session.recover(error)) {
                throw error;
            }
        }
        session.rollBack();
    }

    @Override
    void statement(int statement, Take take) throws SQLException {
        draw.statement(work.templates[statement]);
        session.execute(statement, take);
    }
}
