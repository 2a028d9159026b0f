package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.sql.SQLException;
import java.util.Timer;
import java.util.TimerTask;

/** Every transaction in a session of its own, rolled back: what the server answers. */
final class Trial extends RolledBack {
    private final Work work;
    private final ObjectNode columns;
    private int current;
    /** The error has its row. */
    private boolean told;
    /** A transaction has begun, and nothing of its own ends it so far. */
    private boolean dangles;

    /** number: of the draw, in place of a client's. */
    private Trial(Work work, Target target, int number, ObjectNode columns) {
        super(number, work, target);
        this.work = work;
        this.columns = columns;
        session.examine();
    }

    /**
     * Columns transaction, statement, took_ns, code, message, draw, rows, digest, row. All transactions once, then
     * again with other values, as often as the plan's `draws` and `draws_s` say.
     */
    static ObjectNode of(JsonNode plan) throws SQLException {
        Work work = new Work(plan);
        Target target = new Target(plan.path("jdbc"));
        ObjectNode columns = Lines.JSON.createObjectNode();
        for (String name : new String[] {
            "transaction", "statement", "took_ns", "code", "message", "draw", "rows", "digest", "row"
        }) {
            columns.putArray(name);
        }
        long limitNs = System.nanoTime() + (long) (plan.path("draws_s").asDouble() * 1e9);
        for (int number = 0; number < plan.path("draws").asInt(1); number++) {
            Trial trial = new Trial(work, target, number, columns);
            for (int kind = 0; kind < work.transactions.length; kind++) {
                if (number > 0 && System.nanoTime() > limitNs) {
                    return columns;
                }
                trial.attempt(kind);
            }
        }
        return columns;
    }

    private void attempt(int kind) throws SQLException {
        current = kind;
        connect();
        dangles = false;
        try {
            boolean commitsItself = session.commitsItself();
            session.begin();
            draw.begin(work.transactions[kind], bodies[kind]);
            bodies[kind].steps().run(this);
            if (dangles || !commitsItself && !work.transactions[kind].begins()) {
                say(-1, 0, "open", NOT_ENDED, 0);
            }
        } catch (Ended rolledBack) {
            // nothing follows
        } catch (SQLException | RuntimeException error) {
            if (!told) {
                say(-1, 0, code(error), brief(error), 0);
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
    void begin() {
        dangles = true;
    }

    @Override
    void commit() {
        dangles = false;
    }

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
        long rows;
        try {
            rows = session.execute(statement, take);
        } catch (SQLException | RuntimeException error) {
            say(statement, System.nanoTime() - beginNs, expired[0] ? "deadline" : code(error), brief(error), 0);
            told = true;
            throw error;
        } finally {
            limit.cancel();
        }
        say(statement, System.nanoTime() - beginNs, "", "", rows);
    }

    private void say(int statement, long tookNs, String code, String message, long rows) {
        boolean counts = code.isEmpty() && work.templates[statement].counts;
        Digest digest = counts ? session.digest(statement) : new Digest();
        column("transaction").add(work.transactions[current].name);
        column("statement").add(statement < 0 ? null : work.templates[statement].name);
        column("took_ns").add(tookNs);
        column("code").add(code);
        column("message").add(message);
        column("draw").add(number);
        column("rows").add(counts ? rows : null);
        column("digest").add(String.format("%016x", digest.sum));
        ArrayNode row = counts && rows == 1 ? column("row").addArray() : null;
        if (row == null) {
            column("row").addNull();
        } else {
            digest.first.forEach(row::add);
        }
    }

    private ArrayNode column(String name) {
        return (ArrayNode) columns.get(name);
    }
}
