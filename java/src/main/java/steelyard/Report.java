package steelyard;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/** The result of a run, as columns by table; the lab's engine/result.py checks them. */
final class Report {
    private static final double LOUD_SHARE = 0.1;

    private static final List<String> GROUPS = List.of("clients", "other threads", "JVM");

    private final Work work;
    private final ObjectNode result = Lines.JSON.createObjectNode();
    private final List<String> phases = new ArrayList<>();
    private final ArrayNode backlog = Lines.JSON.createArrayNode();
    private final ArrayNode began = Lines.JSON.createArrayNode();
    private boolean young;
    private long connections;
    private long connectNs;
    private long compiledNs;
    private long measuredNs;
    private List<Client> clients = List.of();
    /** By statement, by execution: clients, rows, executions without a row. */
    private final List<TreeMap<Long, long[]>> marks = new ArrayList<>();

    Report(Work work) {
        this.work = work;
        for (Template unused : work.templates) {
            marks.add(new TreeMap<>());
        }
        table("phases", "point", "clients", "phase", "start_ns", "end_ns");
        table("throughput", "point", "second", "statement", "count", "errors");
        table("latency", "point", "statement", "count", "histogram_base64");
        table("clients", "point", "client", "transactions", "errors", "mean_ns", "p99_ns");
        table("transactions", "point", "transaction", "count", "errors", "retries", "rolled_back", "code", "message");
        table("executions", "point", "statement", "executions", "rows", "empty", "bytes");
        table("marks", "statement", "execution", "clients", "rows", "empty");
        table("errors", "point", "code", "count", "message");
        table("notices", "code", "text");
        table("inspect", "client", "name", "metric", "value");
        table("asides", "point", "phase", "transactions");
        table("samples", "t_ns", "entity", "metric", "value");
    }

    void connected(long tookNs) {
        connections++;
        connectNs += tookNs;
    }

    /** A property of the study that the driver does not list. */
    void unlisted(String name) {
        row("notices", "driver-property", "the driver does not list the property " + name
                + " (getPropertyInfo) and may ignore it: check its name");
    }

    /** New connections did not execute their statements as often as planned, which is said once. */
    void young(int times, double seconds) {
        if (!young) {
            young = true;
            row("notices", "young-connections", "statements ran fewer than " + times + " times on each new connection"
                    + " before it was measured: they take longer than " + seconds + " s together");
        }
    }

    void compiled(long ns) {
        compiledNs += ns;
    }

    /** ns: CPU of the measured load by group of threads. */
    void cpu(int point, long[] ns, List<Record> records) {
        long transactions = Math.max(1, records.stream().mapToLong(record -> record.clientDone).sum());
        for (int group = 0; group < ns.length; group++) {
            String entity = "point" + point + ":" + GROUPS.get(group);
            row("samples", System.nanoTime(), entity, "cpu_ns_per_transaction", ns[group] / (double) transactions);
        }
    }

    /** At the end of a load point's warm-up. */
    void warmedUp(int point, int count, WarmUp.End end) {
        String entity = "point" + point;
        long now = System.nanoTime();
        row("samples", now, entity, "warm_up_s", end.seconds());
        row("samples", now, entity, "compiled_methods_per_s", end.methodsPerS());
        row("samples", now, entity, "compiling_percent", 100 * end.share());
        row("samples", now, entity, "quiet", end.isQuiet() ? 1.0 : 0.0);
        if (!end.isQuiet()) {
            row("notices", "jit", String.format(Locale.ROOT, "the JVM was not quiet after %.1f s of warm-up at %d clients:"
                    + " in the last half second it compiled %.0f methods per second, with %.0f %% of a CPU (quiet:"
                    + " fewer than %.0f, less than %.0f %%): raise workload.driver_warm_up_max_s", end.seconds(), count,
                    end.methodsPerS(), 100 * end.share(), WarmUp.METHODS_PER_S, 100 * WarmUp.SHARE));
        }
    }

    /** Of one load point each phase counts once: in turns its clients connect several times. */
    void phase(String name, int point, int count, long startNs, long endNs) {
        if (phases.contains(name + point)) {
            return;
        }
        phases.add(name + point);
        row("phases", point, count, name, startNs, endNs);
    }

    /** The counts of a load point. */
    void keep(int point, List<Client> of, List<Record> records) {
        clients = of;
        backlog.add(records.stream().mapToLong(record -> record.backlog).sum());
        began.add(records.stream().mapToLong(record -> record.beganNs).filter(ns -> ns > 0).min().orElse(0));
        measuredNs += records.isEmpty() ? 0 : records.get(0).measuredNs();
        int seconds = records.stream().mapToInt(record -> record.seconds.size()).max().orElse(0);
        for (int second = 0; second < seconds; second++) {
            for (int number = 0; number < work.timed.size(); number++) {
                long done = 0;
                long errors = 0;
                for (Record record : records) {
                    done += record.seconds.get(second)[number][0];
                    errors += record.seconds.get(second)[number][1];
                }
                row("throughput", point, second, work.timed.get(number), done, errors);
            }
        }
        for (int number = 0; number < work.timed.size(); number++) {
            Histogram merged = new Histogram(1, Record.LONGEST_NS, 3);
            for (Record record : records) {
                if (record.histograms[number] != null) {
                    merged.add(record.histograms[number]);
                }
            }
            row("latency", point, work.timed.get(number), merged.getTotalCount(), encoded(merged));
        }
        for (int at = 0; at < records.size(); at++) {
            Record record = records.get(at);
            double meanNs = record.sumNs / (double) Math.max(1, record.clientDone);
            row("clients", point, of.get(at).number, record.clientDone, record.failed, meanNs, record.p99Ns());
        }
        kinds(point, records);
        executions(point, records);
        Map<String, Record.Failures> errors = new TreeMap<>();
        for (Record record : records) {
            record.errors.forEach((code, failures) ->
                    errors.computeIfAbsent(code, unseen -> new Record.Failures(failures.message)).count += failures.count);
        }
        errors.forEach((code, failures) -> row("errors", point, code, failures.count, failures.message));
    }

    ObjectNode result() {
        marks(clients);
        for (int statement = 0; statement < marks.size(); statement++) {
            String name = work.templates[statement].name;
            marks.get(statement).forEach((execution, sums) -> row("marks", name, execution, sums[0], sums[1], sums[2]));
        }
        if (compiledNs > LOUD_SHARE * measuredNs) {
            row("notices", "jit", "the JVM's compilers used more than 10 % of a CPU in the measured time: measure for longer"
                    + " (plan.measure_s), so that it matters less");
        }
        ObjectNode engine = result.putObject("engine");
        engine.put("io", "jdbc").put("threads", clients.size()).put("connections_made", connections);
        engine.put("reconnections", clients.stream().mapToLong(client -> client.reconnections).sum());
        engine.put("numbered", work.share.numbered());
        engine.put("connections_lost", clients.stream().mapToLong(client -> client.lost).sum());
        engine.put("connections_lost_cause", lostCause(clients));
        engine.put("connect_ns_mean", connectNs / (double) Math.max(1, connections));
        engine.set("backlog", backlog);
        engine.set("began_ns", began);
        return result;
    }

    static String lostCause(List<Client> clients) {
        return clients.stream().map(client -> client.lostCause).filter(cause -> cause != null).findFirst().orElse(null);
    }

    /** By statement, over clients whose work is over. */
    void marks(List<Client> left) {
        for (int statement = 0; statement < work.templates.length; statement++) {
            for (Client client : left) {
                for (long[] mark : client.executed.marks(statement)) {
                    long[] sums = marks.get(statement).computeIfAbsent(mark[0], unseen -> new long[3]);
                    sums[0]++;
                    sums[1] += mark[1];
                    sums[2] += mark[2];
                }
            }
        }
    }

    private void executions(int point, List<Record> records) {
        for (int statement = 0; statement < work.templates.length; statement++) {
            long[] sums = new long[Executed.SUMS];
            for (Record record : records) {
                for (int at = 0; at < sums.length; at++) {
                    sums[at] += record.executed[statement][at];
                }
            }
            Long rows = sums[1] > 0 ? sums[2] : null;
            Long empty = sums[1] > 0 ? sums[3] : null;
            row("executions", point, work.templates[statement].name, sums[0], rows, empty, null);
        }
    }

    private void kinds(int point, List<Record> records) {
        for (int kind = 0; kind < work.transactions.length; kind++) {
            long done = 0;
            long errors = 0;
            long retries = 0;
            long rolledBack = 0;
            String code = "";
            String message = "";
            for (Record record : records) {
                done += record.kindDone[kind];
                errors += record.kindErrors[kind];
                retries += record.kindRetries[kind];
                rolledBack += record.kindRolledBack[kind];
                if (code.isEmpty() && record.kindCode[kind] != null) {
                    code = record.kindCode[kind];
                    message = record.kindMessage[kind];
                }
            }
            String name = work.transactions[kind].name;
            row("transactions", point, name, done, errors, retries, rolledBack, code, message);
        }
    }

    private void table(String name, String... columns) {
        ObjectNode table = result.putObject(name);
        for (String column : columns) {
            table.putArray(column);
        }
    }

    private void row(String table, Object... values) {
        int at = 0;
        for (var column : result.get(table)) {
            ((ArrayNode) column).addPOJO(values[at++]);
        }
    }

    private static String encoded(Histogram histogram) {
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoByteBuffer(buffer);
        return Base64.getEncoder().encodeToString(java.util.Arrays.copyOf(buffer.array(), length));
    }
}
