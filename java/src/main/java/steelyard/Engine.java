package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** One run: its load points, in one stretch of load each or in turns by the lab's commands. */
final class Engine {
    private static final long TICK_NS = 1_000_000_000;
    /** Before a common start: clients' threads begin and wait. */
    private static final long THREADS_NS = 50_000_000;

    private final JsonNode plan;
    private final Work work;
    private final Target target;
    private final Lines lines;
    private final Report report;
    private final CommonStart starts;
    /** Of an open loop; null: the loop is closed. */
    private final Arrivals arrivals;
    private final ThreadCpu cpu = new ThreadCpu();
    private final Compilation compilation = new Compilation();
    private List<Client> clients = new ArrayList<>();
    private List<Record> records = new ArrayList<>();
    /** As they were before the last turn, of an engine among several. */
    private List<Record> recordsBefore = List.of();
    private final ThreadCpu cpuBefore = new ThreadCpu();
    private double primedMs;
    private long countedBefore;
    private long errorsBefore;

    Engine(JsonNode plan, Lines lines) {
        this.plan = plan;
        this.lines = lines;
        work = new Work(plan);
        target = new Target(plan.path("jdbc"));
        report = new Report(work);
        starts = new CommonStart(work.share, lines);
        arrivals = work.ratePerS > 0 ? new Arrivals(work) : null;
    }

    /** The result. Throws SQLException when a client cannot connect. */
    ObjectNode run() throws SQLException, IOException, InterruptedException {
        int point = 0;
        for (JsonNode count : plan.path("points")) {
            if (plan.path("turns").asBoolean()) {
                turns(point, work.share.clients(count.asInt()));
            } else {
                connect(point, work.share.clients(count.asInt()));
                alone(point);
            }
            report.keep(point, clients, records);
            report.cpu(point, cpu.taken(), records);
            point++;
        }
        long begin = phase("cool-down", point - 1);
        Thread.sleep((long) (plan.path("cool_down_s").asDouble() * 1000));
        report.phase("cool-down", point - 1, clients.size(), begin, System.nanoTime());
        begin = phase("disconnect", point - 1);
        clients.forEach(Client::disconnect);
        report.phase("disconnect", point - 1, clients.size(), begin, System.nanoTime());
        target.unlisted().forEach(report::unlisted);
        return report.result();
    }

    private void connect(int point, int count) throws SQLException {
        long begin = phase("connect", point, count);
        clients.forEach(Client::disconnect);
        for (int number = clients.size(); number < count; number++) {
            clients.add(new Client((int) work.share.number(number), work, target));
        }
        report.marks(clients.subList(count, clients.size()));
        clients = new ArrayList<>(clients.subList(0, count));
        for (Client client : clients) {
            long from = System.nanoTime();
            client.connect();
            report.connected(System.nanoTime() - from);
        }
        prime();
        report.phase("connect", point, count, begin, System.nanoTime());
    }

    private void prime() throws SQLException {
        long begin = System.nanoTime();
        long limitNs = begin + (long) (plan.path("prime_s").asDouble() * 1e9);
        boolean whole = true;
        for (Client client : clients) {
            whole &= new Priming(client, work).run(plan.path("prime").asInt(), limitNs);
        }
        if (!whole && plan.path("prime").asInt() > 1) {
            report.young(plan.path("prime").asInt(), plan.path("prime_s").asDouble());
        }
        primedMs = (System.nanoTime() - begin) / 1e6;
    }

    private void alone(int point) throws IOException, InterruptedException {
        anew();
        long begin = phase("warm-up", point);
        double warmUpMs = plan.path("warm_up_s").asDouble() * 1000;
        if (warmUpMs > 0) {
            Client.sleepUntil(starts.next(point));
            warmUp(point, warmUpMs);
        }
        Window window = Window.at(starts.next(point), 0, plan.path("measure_s").asDouble() * 1000);
        report.phase("warm-up", point, clients.size(), begin, window.measureNs());
        Client.sleepUntil(window.startNs() - THREADS_NS);
        phase("measure", point);
        measured(point, window);
        report.phase("measure", point, clients.size(), window.measureNs(), window.endNs());
    }

    private void warmUp(int point, double leastMs) throws InterruptedException {
        WarmUp warmUp = new WarmUp(leastMs, plan.path("jdbc").path("warm_up_max_s").asDouble() * 1000);
        WarmUp.End end = warmUp.run(lengthMs -> load(point, "warm-up", Window.of(lengthMs, 0)));
        report.warmedUp(point, clients.size(), end);
    }

    private void turns(int point, int count) throws SQLException, IOException, InterruptedException {
        records = new ArrayList<>();
        long startNs = System.nanoTime();
        long measureNs = 0;
        while (true) {
            JsonNode command = Lines.JSON.readTree(lines.command());
            String what = command.path("do").asText();
            if (what.equals("next")) {
                break;
            } else if (what.equals("connect")) {
                connect(point, count);
                if (records.isEmpty()) {
                    anew();
                    // the others rest meanwhile, as in any turn
                    if (plan.path("warm_up_s").asDouble() > 0) {
                        warmUp(point, 0);
                        anew();
                    }
                }
                ObjectNode event = lines.event("connected").put("point", point).put("primed_ms", primedMs);
                lines.say(event.put("t_ns", System.nanoTime()));
            } else {
                double measureMs = command.path("measure_ms").asDouble();
                keepOrRestore(command);
                long beginNs = starts.ofTurn(point, command);
                if (beginNs < 0) {
                    continue;
                }
                Window window = Window.at(beginNs, command.path("settle_ms").asDouble(), measureMs);
                // the lab's clock of a run in turns begins here
                measureNs = measureNs == 0 && measureMs > 0 ? window.measureNs() : measureNs;
                turn(point, window, measureMs > 0);
            }
        }
        long measured = records.isEmpty() ? 0 : records.get(0).measuredNs();
        report.phase("warm-up", point, count, Math.min(startNs, measureNs), measureNs);
        report.phase("measure", point, count, measureNs, measureNs + measured);
    }

    /** Before a turn at an instant: what a repeated one counted is gone. */
    private void keepOrRestore(JsonNode command) {
        if (command.path("again").asBoolean()) {
            records = recordsBefore;
            cpu.set(cpuBefore);
        }
        if (command.hasNonNull("at_ns")) {
            recordsBefore = records.stream().map(Record::copy).toList();
            cpuBefore.set(cpu);
        }
    }

    private void turn(int point, Window window, boolean measures) throws SQLException, InterruptedException {
        long[] before = sums();
        if (measures) {
            measured(point, window);
        } else {
            load(point, "warm-up", window);
        }
        for (Client client : clients) {
            client.endTurn();
        }
        long[] after = sums();
        ObjectNode event = lines.event("turn").put("point", point);
        event.put("start_ns", window.startNs()).put("measure_ns", window.measureNs());
        event.put("end_ns", window.endNs()).put("t_ns", System.nanoTime());
        event.put("transactions", after[0] - before[0]).put("first_half", after[1] - before[1]);
        event.put("all", after[2] - before[2]);
        ArrayNode profile = event.putArray("profile");
        if (!measures) {
            for (int part = 0; part < records.get(0).parts.length; part++) {
                int at = part;
                profile.add(records.stream().mapToLong(record -> record.parts[at]).sum());
            }
        }
        event.put("sum_ms", records.stream().mapToDouble(record -> record.sumMs).sum());
        event.put("squares_ms2", records.stream().mapToDouble(record -> record.squaresMs2).sum());
        event.put("lost", clients.stream().mapToLong(client -> client.lost).sum());
        event.put("lost_cause", Report.lostCause(clients));
        lines.say(event);
    }

    private void anew() {
        records.forEach(record -> {
            countedBefore += record.all;
            errorsBefore += record.allErrors;
        });
        records = new ArrayList<>();
        clients.forEach(unused -> records.add(new Record(work)));
    }

    /** A measured stretch: what the JVM compiled in it, and its CPU. */
    private void measured(int point, Window window) throws InterruptedException {
        long compiledNs = compilation.ns();
        long[] before = ThreadCpu.reading();
        load(point, "measure", window);
        cpu.add(before, clients.stream().mapToLong(client -> client.cpuNs).sum());
        report.compiled(compilation.ns() - compiledNs);
    }

    /** Every client in its thread until the window's end. */
    private void load(int point, String phase, Window window) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        if (arrivals != null) {
            arrivals.begin(window);
        }
        for (int at = 0; at < clients.size(); at++) {
            Client client = clients.get(at);
            client.record = records.get(at);
            client.record.begin(window);
            Thread thread = new Thread(() -> {
                client.load(window, arrivals);
                client.cpuNs = ThreadCpu.ownNs();
            }, "client-" + client.number);
            threads.add(thread);
            thread.start();
        }
        long tickNs = window.startNs();
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                long now = System.nanoTime();
                clients.forEach(client -> client.expire(now));
                if (now >= tickNs) {
                    tickNs += TICK_NS;
                    tick(point, phase, now);
                }
                thread.join(20);
            }
        }
    }

    private void tick(int point, String phase, long now) {
        ObjectNode event = lines.event("tick").put("t_ns", now).put("point", point).put("phase", phase);
        event.put("transactions", countedBefore + records.stream().mapToLong(record -> record.all).sum());
        event.put("errors", errorsBefore + records.stream().mapToLong(record -> record.allErrors).sum());
        lines.say(event);
    }

    /** Transactions: measured, of these in the first half, all. */
    private long[] sums() {
        long[] sums = new long[3];
        for (Record record : records) {
            sums[0] += record.done;
            sums[1] += record.firstHalf;
            sums[2] += record.all;
        }
        return sums;
    }

    private long phase(String name, int point) {
        return phase(name, point, clients.size());
    }

    private long phase(String name, int point, int count) {
        long now = System.nanoTime();
        ObjectNode event = lines.event("phase").put("phase", name).put("point", point);
        lines.say(event.put("clients", count).put("t_ns", now));
        return now;
    }
}
