package steelyard;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** One client: a connection, a thread while there is load, and a closed loop of transactions. */
final class Client {
    private static final long RECONNECT_NS = 100_000_000;

    final int number;
    Record record;
    long reconnections;
    long lost;
    String lostCause;

    private final Work work;
    private final Target target;
    private final Draw draw;
    private final SmallRandom pauses;
    private final Rows[] rows;
    private final StringBuilder text = new StringBuilder(256);
    private Connection connection;
    private Statement plain;
    private PreparedStatement[][] kept;
    private boolean autoCommit = true;
    private int next = -1;
    private int last = -1;
    /** When the transaction under way began; 0: none is. */
    private volatile long startedNs;
    private volatile boolean expired;

    Client(int number, Work work, Target target) {
        this.number = number;
        this.work = work;
        this.target = target;
        draw = new Draw(work, number);
        pauses = SmallRandom.of(work.seed, number, 2);
        rows = new Rows[work.templates.length];
        for (int at = 0; at < rows.length; at++) {
            rows[at] = new Rows();
        }
    }

    /** A new session; values and pauses go on. */
    void connect() throws SQLException {
        connection = target.connect();
        plain = connection.createStatement();
        for (String sql : work.session) {
            plain.execute(sql);
        }
        kept = new PreparedStatement[work.templates.length][work.texts];
        autoCommit = true;
    }

    void disconnect() {
        if (connection == null) {
            return;
        }
        try {
            connection.close();
        } catch (SQLException gone) {
            // it is to be gone
        }
        connection = null;
    }

    /** Transactions until the window's end; the last one is completed. */
    void load(Window window, BooleanSupplier stopped) {
        sleepUntil(window.startNs());
        boolean first = true;
        while (!stopped.getAsBoolean()) {
            long pauseNs = pauseNs(first);
            first = false;
            if (pauseNs > 0) {
                sleepUntil(Math.min(System.nanoTime() + pauseNs, window.endNs()));
            }
            if (System.nanoTime() >= window.endNs()) {
                return;
            }
            if (connection == null && !reconnected(window)) {
                return;
            }
            transaction(next >= 0 ? next : draw.transaction());
        }
    }

    /** What each session sends at the end of a turn. */
    void endTurn() throws SQLException {
        if (!work.turnEnd.isEmpty() && connection != null) {
            plain.execute(work.turnEnd);
        }
    }

    /** Breaks off a transaction that takes longer than the deadline. */
    void expire(long nowNs) {
        long started = startedNs;
        Connection busy = connection;
        if (started == 0 || busy == null || nowNs - started < work.deadlineMs * 1e6) {
            return;
        }
        expired = true;
        try {
            busy.abort(Runnable::run);
        } catch (SQLException refused) {
            // the driver cannot: the statement goes on
        }
    }

    private void transaction(int kind) {
        Transaction transaction = work.transactions[kind];
        next = -1;
        last = kind;
        draw.begin(transaction);
        long beginNs = System.nanoTime();
        startedNs = beginNs;
        int at = -1;
        try {
            long fromNs = beginNs;
            if (transaction.begin == autoCommit) {
                autoCommit = !transaction.begin;
                connection.setAutoCommit(autoCommit);
            }
            if (transaction.begin && work.control >= 0) {
                long nowNs = System.nanoTime();
                record.timed(work.control, fromNs, nowNs);
                fromNs = nowNs;
            }
            for (int statement : transaction.statements) {
                at = statement;
                draw.statement(work.templates[statement]);
                execute(statement);
                long nowNs = System.nanoTime();
                record.timed(statement, fromNs, nowNs);
                fromNs = nowNs;
            }
            at = -1;
            if (transaction.begin) {
                connection.commit();
                if (work.control >= 0) {
                    record.timed(work.control + 1, fromNs, System.nanoTime());
                }
            }
            record.transactionDone(kind, beginNs, System.nanoTime());
        } catch (SQLException | RuntimeException error) {
            record.transactionFailed(kind, at, beginNs, expired ? "deadline" : code(error), brief(error));
            afterFailure(error);
        } finally {
            startedNs = 0;
        }
    }

    private void execute(int number) throws SQLException {
        Template template = work.templates[number];
        if (work.handle == Work.Handle.NAMED) {
            PreparedStatement statement = kept[number][(int) draw.tag];
            if (statement == null) {
                statement = connection.prepareStatement(text(template));
                kept[number][(int) draw.tag] = statement;
            }
            run(template, statement, number);
        } else if (work.handle == Work.Handle.PER_USE) {
            try (PreparedStatement statement = connection.prepareStatement(text(template))) {
                run(template, statement, number);
            }
        } else {
            rows[number].read(plain, plain.execute(text(template)));
        }
    }

    private void run(Template template, PreparedStatement statement, int number) throws SQLException {
        int[] bound = template.bound;
        for (int at = 0; at < bound.length; at++) {
            draw.values[bound[at]].bind(statement, at + 1);
        }
        rows[number].read(statement, statement.execute());
    }

    private String text(Template template) {
        text.setLength(0);
        template.write(draw.tag, draw.values, text);
        return text.toString();
    }

    private void afterFailure(Exception error) {
        boolean gone = expired;
        try {
            gone = gone || connection.isClosed() || code(error).startsWith("08");
            if (!gone && !autoCommit) {
                connection.rollback();
            }
        } catch (SQLException broken) {
            gone = true;
        }
        if (gone) {
            lost++;
            lostCause = brief(error);
            disconnect();
        }
    }

    private boolean reconnected(Window window) {
        expired = false;
        while (System.nanoTime() < window.endNs()) {
            try {
                connect();
                reconnections++;
                return true;
            } catch (SQLException refused) {
                sleepUntil(System.nanoTime() + RECONNECT_NS);
            }
        }
        return false;
    }

    /** The pause before the next transaction, which is drawn ahead where kinds have pauses of their own. */
    private long pauseNs(boolean first) {
        double ms = first ? 0 : pauseMs(work.thinkMs, work.thinkExponential);
        if (work.pauses) {
            if (!first) {
                ms += pauseMs(work.transactions[last].thinkMs, work.transactions[last].exponential);
            }
            if (next < 0) {
                next = draw.transaction();
            }
            ms += work.transactions[next].keyingMs;
        }
        return (long) (ms * 1e6);
    }

    private double pauseMs(double meanMs, boolean exponential) {
        return meanMs > 0 && exponential ? -meanMs * Math.log(1 - pauses.share()) : meanMs;
    }

    private static void sleepUntil(long endNs) {
        for (long left = endNs - System.nanoTime(); left > 0; left = endNs - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    static String code(Exception error) {
        if (!(error instanceof SQLException sql)) {
            return error.getClass().getSimpleName();
        }
        String state = sql.getSQLState();
        return state != null && !state.isBlank() ? state : "vendor " + sql.getErrorCode();
    }

    static String brief(Exception error) {
        String message = String.valueOf(error.getMessage()).lines().findFirst().orElse("");
        return message.length() > 500 ? message.substring(0, 500) : message;
    }
}
