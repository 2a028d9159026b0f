package steelyard;

import java.sql.SQLException;
import java.util.concurrent.locks.LockSupport;

/** One client: a session, a thread while there is load, and a loop of transactions. */
class Client {
    static final String NOT_ENDED = "the transaction ended without commit or rollback";
    private static final long RECONNECT_NS = 100_000_000;
    /** How long a client without a message waits until it looks again. */
    private static final long LOOK_NS = 1_000_000;

    final int number;
    final Draw draw;
    final Executed executed;
    Record record;
    long reconnections;
    long lost;
    String lostCause;
    /** Of its thread in the last stretch of load. */
    long cpuNs;

    private final Work work;
    final Session session;
    final Body[] bodies;
    private final SmallRandom pauses;
    /** Its only transaction; -1: it executes the mix. */
    final int own;
    private int next = -1;
    private int last = -1;
    /** Of the transaction under way: when it was to begin, since when its next part counts, its statement or -1. */
    private long beginNs;
    private long fromNs;
    private int at = -1;
    /** Since when the deadline counts; 0: no transaction is under way. */
    private volatile long startedNs;
    private volatile boolean expired;

    Client(int number, Work work, Target target) {
        this.number = number;
        this.work = work;
        draw = new Draw(work, number);
        executed = new Executed(work);
        session = new Session(work, target, draw);
        pauses = SmallRandom.of(work.seed, number, 2);
        own = work.ownOf(number);
        bodies = new Body[work.transactions.length];
        for (int kind = 0; kind < bodies.length; kind++) {
            bodies[kind] = new Body(work.transactions[kind], work);
        }
    }

    /** The same client, with the same session and values. */
    Client(Client of, Work work) {
        this.work = work;
        number = of.number;
        draw = of.draw;
        executed = of.executed;
        session = of.session;
        pauses = of.pauses;
        own = of.own;
        bodies = of.bodies;
    }

    /** A new session; values and pauses go on. */
    void connect() throws SQLException {
        session.connect();
    }

    void disconnect() {
        session.disconnect();
    }

    /** What each session sends at the end of a turn. */
    void endTurn() throws SQLException {
        session.endTurn();
    }

    /** Transactions until the window's end; the last one is completed. arrivals: of an open loop, or null. */
    void load(Window window, Arrivals arrivals) {
        sleepUntil(window.startNs());
        boolean first = true;
        while (true) {
            long intendedNs = 0;
            if (arrivals == null) {
                pauseBefore(first, window);
            } else {
                intendedNs = arrivals.take();
                if (intendedNs < 0) {
                    return;
                }
                sleepUntil(intendedNs);
            }
            first = false;
            if (System.nanoTime() >= window.endNs() || !session.isConnected() && !reconnected(window)) {
                for (long late = intendedNs; late > 0; late = arrivals.take()) {
                    record.neverBegan(window.endNs() - late);
                }
                return;
            }
            if (own >= 0 && !work.transactions[own].takes.isEmpty()) {
                // one that has taken a message begins
                intendedNs = received(window);
                if (intendedNs == 0) {
                    return;
                }
            }
            transaction(next >= 0 ? next : drawn(), intendedNs, window.endNs() - 1);
        }
    }

    private int drawn() {
        return own >= 0 ? own : draw.transaction();
    }

    /** Waits for the messages of the client's own transaction; returns when they were due, 0: none came until the end. */
    private long received(Window window) {
        for (long nowNs = System.nanoTime(); nowNs < window.endNs(); nowNs = System.nanoTime()) {
            long dueNs = work.queues.take(work.transactions[own], draw.values, nowNs);
            if (dueNs > 0) {
                return dueNs;
            }
            sleepUntil(Math.min(nowNs + LOOK_NS, window.endNs()));
        }
        return 0;
    }

    /** Breaks off a transaction that takes longer than the deadline. */
    void expire(long nowNs) {
        long started = startedNs;
        if (started != 0 && nowNs - started >= work.deadlineMs * 1e6) {
            expired = true;
            session.abort();
        }
    }

    /** intendedNs: when it was to begin; 0: now. lastNs: it was found to begin in time, and counts so. */
    private void transaction(int kind, long intendedNs, long lastNs) {
        next = -1;
        last = kind;
        Body body = bodies[kind];
        draw.begin(work.transactions[kind], body);
        long nowNs = System.nanoTime();
        beginNs = intendedNs > 0 ? intendedNs : Math.min(nowNs, lastNs);
        fromNs = beginNs;
        startedNs = nowNs;
        int retries = 0;
        while (!ended(kind, body, retries)) {
            retries++;
            draw.again(body);
            fromNs = System.nanoTime();
            record.retried(kind, fromNs);
        }
        startedNs = 0;
    }

    /** Executes the transaction once. False: it is to be executed again. */
    private boolean ended(int kind, Body body, int retries) {
        at = -1;
        executed.begin();
        try {
            body.steps().run(this);
            if (session.isOpen()) {
                throw new StepError(NOT_ENDED);
            }
            executed.done(record.executed(beginNs));
            record.transactionDone(kind, beginNs, System.nanoTime());
            return true;
        } catch (SQLException | RuntimeException error) {
            boolean recovered = !expired && session.recover(error);
            if (recovered && retries < work.retries && isRetryable(error)) {
                return false;
            }
            record.transactionFailed(kind, at, beginNs, expired ? "deadline" : code(error), brief(error));
            if (!recovered) {
                lost++;
                lostCause = brief(error);
                session.disconnect();
            }
            return true;
        }
    }

    /** A step that begins a transaction on the server. */
    void begin() throws SQLException {
        session.begin();
        counted(work.control);
    }

    void commit() throws SQLException {
        session.commit();
        counted(work.control < 0 ? -1 : work.control + 1);
    }

    /** Rolls back as the steps say; the transaction counts as done. */
    void rollBack() throws SQLException {
        session.rollBack();
        record.rolledBack(last, beginNs);
    }

    void statement(int statement, Take take) throws SQLException {
        at = statement;
        draw.statement(work.templates[statement]);
        executed.statement(statement, session.execute(statement, take));
        counted(statement);
        at = -1;
    }

    /** A pause within the transaction, part of its latency; the deadline counts what the server takes. */
    void pause(long ns) {
        startedNs += ns;
        sleepUntil(System.nanoTime() + ns);
        fromNs = System.nanoTime();
    }

    private void counted(int number) {
        if (number >= 0) {
            long nowNs = System.nanoTime();
            record.timed(number, fromNs, nowNs);
            fromNs = nowNs;
        }
    }

    private boolean reconnected(Window window) {
        expired = false;
        while (System.nanoTime() < window.endNs()) {
            try {
                session.connect();
                reconnections++;
                return true;
            } catch (SQLException refused) {
                sleepUntil(System.nanoTime() + RECONNECT_NS);
            }
        }
        return false;
    }

    /** The pause before the next transaction, which is drawn ahead where kinds have pauses of their own. */
    private void pauseBefore(boolean first, Window window) {
        double ms = first ? 0 : pauseMs(work.thinkMs, work.thinkExponential);
        if (work.pauses) {
            if (!first) {
                ms += pauseMs(work.transactions[last].thinkMs, work.transactions[last].exponential);
            }
            if (next < 0) {
                next = drawn();
            }
            ms += work.transactions[next].keyingMs;
        }
        if (ms > 0) {
            sleepUntil(Math.min(System.nanoTime() + (long) (ms * 1e6), window.endNs()));
        }
    }

    private double pauseMs(double meanMs, boolean exponential) {
        return meanMs > 0 && exponential ? -meanMs * Math.log(1 - pauses.share()) : meanMs;
    }

    static void sleepUntil(long endNs) {
        for (long left = endNs - System.nanoTime(); left > 0; left = endNs - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** Serialization failures and deadlocks, and MariaDB's "Record has changed since last read". */
    private static boolean isRetryable(Exception error) {
        String code = code(error);
        boolean changed = error instanceof SQLException sql && sql.getErrorCode() == 1020 && code.equals("HY000");
        return changed || code.equals("40001") || code.equals("40P01");
    }

    static String code(Exception error) {
        if (error instanceof StepError) {
            return "step";
        }
        if (!(error instanceof SQLException sql)) {
            return error.getClass().getSimpleName();
        }
        String state = sql.getSQLState();
        return state != null && !state.isBlank() ? state : "vendor " + sql.getErrorCode();
    }

    static String described(SQLException error) {
        return brief(error) + " (" + code(error) + ")";
    }

    static String brief(Exception error) {
        String message = String.valueOf(error.getMessage()).lines().findFirst().orElse("");
        return message.length() > 500 ? message.substring(0, 500) : message;
    }
}
