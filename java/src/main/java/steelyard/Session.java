package steelyard;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;

/** A client's connection: its statements, prepared as the handle says, and its transactions. */
final class Session {
    private final Work work;
    private final Target target;
    private final Draw draw;
    private final Rows[] rows;
    private final StringBuilder text = new StringBuilder(256);
    /** Read by the thread that looks for expired transactions. */
    private volatile Connection connection;
    private Statement plain;
    private PreparedStatement[][] kept;
    private boolean autoCommit = true;
    /** The connection commits each statement outside a transaction. */
    private boolean commitsItself = true;
    /** A transaction was begun and has not ended. */
    private boolean open;

    Session(Work work, Target target, Draw draw) {
        this.work = work;
        this.target = target;
        this.draw = draw;
        rows = new Rows[work.templates.length];
        for (int at = 0; at < rows.length; at++) {
            rows[at] = new Rows();
        }
    }

    void connect() throws SQLException {
        connection = target.connect();
        plain = connection.createStatement();
        for (String sql : work.session) {
            plain.execute(sql);
        }
        kept = new PreparedStatement[work.templates.length][work.texts];
        commitsItself = connection.getAutoCommit();
        autoCommit = commitsItself;
        open = false;
    }

    /** From now on the rows of every statement are digested. */
    void examine() {
        for (Rows one : rows) {
            one.digest = new Digest();
        }
    }

    /** Of the statement's rows before. */
    Digest digest(int statement) {
        return rows[statement].digest;
    }

    boolean isConnected() {
        return connection != null;
    }

    boolean isOpen() {
        return open;
    }

    boolean commitsItself() {
        return commitsItself;
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

    /** Breaks off what it executes, from another thread. */
    void abort() {
        Connection busy = connection;
        try {
            if (busy != null) {
                busy.abort(Runnable::run);
            }
        } catch (SQLException refused) {
            // the driver cannot: the statement goes on
        }
    }

    void begin() throws SQLException {
        autoCommit(false);
        open = true;
    }

    void commit() throws SQLException {
        if (open) {
            connection.commit();
        }
        open = false;
    }

    void rollBack() throws SQLException {
        if (open) {
            connection.rollback();
        }
        open = false;
    }

    /** After an error. False: the connection is gone. */
    boolean recover(Exception error) {
        try {
            if (connection.isClosed() || Client.code(error).startsWith("08")) {
                return false;
            }
            if (!autoCommit) {
                connection.rollback();
            }
            open = false;
            return true;
        } catch (SQLException broken) {
            return false;
        }
    }

    /** What each session sends at the end of a turn. */
    void endTurn() throws SQLException {
        if (!work.turnEnd.isEmpty() && connection != null) {
            plain.execute(work.turnEnd);
        }
    }

    /** Rows of the statement that was drawn; take: the values that its rows give, null: none. */
    long execute(int number, Take take) throws SQLException {
        if (!open && commitsItself) {
            autoCommit(true);
        }
        open |= !commitsItself;
        Template template = work.templates[number];
        if (work.handle == Work.Handle.NAMED) {
            PreparedStatement statement = kept[number][(int) draw.tag];
            if (statement == null) {
                statement = connection.prepareStatement(text(template));
                kept[number][(int) draw.tag] = statement;
            }
            return run(template, statement, number, take);
        }
        if (work.handle == Work.Handle.PER_USE) {
            try (PreparedStatement statement = connection.prepareStatement(text(template))) {
                return run(template, statement, number, take);
            }
        }
        return rows[number].read(plain, plain.execute(text(template)), take, draw);
    }

    private long run(Template template, PreparedStatement statement, int number, Take take) throws SQLException {
        int[] bound = template.bound;
        for (int at = 0; at < bound.length; at++) {
            draw.values[bound[at]].bind(statement, at + 1);
        }
        return rows[number].read(statement, statement.execute(), take, draw);
    }

    private String text(Template template) {
        if (template.constant != null) {
            return template.constant;
        }
        text.setLength(0);
        template.write(draw.tag, draw.values, text);
        return text.toString();
    }

    private void autoCommit(boolean commits) throws SQLException {
        if (autoCommit != commits) {
            autoCommit = commits;
            connection.setAutoCommit(commits);
        }
    }
}
