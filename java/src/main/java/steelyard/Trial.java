package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.sql.SQLException;
import java.util.Timer;
import java.util.TimerTask;

/** Every transaction once, each in a session of its own and rolled back: what the server answers. */
final class Trial extends Client {
    private final Work work;
    private final ObjectNode columns = Lines.JSON.createObjectNode();
    private int current;
    /** The error has its row. */
    private boolean told;

    /** Steps that roll back end the trial of their transaction. */
    private static final class Ended extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private Trial(Work work, Target target) {
        super(0, work, target);
        this.work = work;
        for (String name : new String[] {"transaction", "statement", "took_ns", "code", "message"}) {
            columns.putArray(name);
        }
    }

    /** Columns transaction, statement, took_ns, code, message. */
    static ObjectNode of(JsonNode plan) throws SQLException {
        Work work = new Work(plan);
        Trial trial = new Trial(work, new Target(plan.path("jdbc")));
        for (int kind = 0; kind < work.transactions.length; kind++) {
            trial.attempt(kind);
        }
        return trial.columns;
    }

    private void attempt(int kind) throws SQLException {
        current = kind;
        connect();
        try {
            session.begin();
            draw.begin(work.transactions[kind], bodies[kind]);
            bodies[kind].steps().run(this);
        } catch (Ended rolledBack) {
            // what follows would be another transaction
        } catch (SQLException | RuntimeException error) {
            if (!told) {
                say(-1, 0, code(error), brief(error));
            }
        }
        told = false;
        try {
            session.rollBack();
        } catch (SQLException gone) {
            // it ends with its connection as well
        }
        disconnect();
    }

    @Override
    void begin() {}

    @Override
    void commit() {}

    @Override
    void rollBack() {
        throw new Ended();
    }

    @Override
    void pause(long ns) {}

    @Override
    void statement(int statement, Take take) throws SQLException {
        draw.statement(work.templates[statement]);
        long beginNs = System.nanoTime();
        Timer limit = new Timer(true);
        boolean[] expired = {false};
        limit.schedule(new TimerTask() {
            @Override
            public void run() {
                expired[0] = true;
                session.abort();
            }
        }, (long) work.deadlineMs);
        try {
            session.execute(statement, take);
        } catch (SQLException | RuntimeException error) {
            say(statement, System.nanoTime() - beginNs, expired[0] ? "deadline" : code(error), brief(error));
            told = true;
            throw error;
        } finally {
            limit.cancel();
        }
        say(statement, System.nanoTime() - beginNs, "", "");
    }

    private void say(int statement, long tookNs, String code, String message) {
        column("transaction").add(work.transactions[current].name);
        column("statement").add(statement < 0 ? null : work.templates[statement].name);
        column("took_ns").add(tookNs);
        column("code").add(code);
        column("message").add(message);
    }

    private ArrayNode column(String name) {
        return (ArrayNode) columns.get(name);
    }
}
