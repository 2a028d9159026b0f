import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;

/**
 * Warehouses in one JVM, each served by a thread of its own on data of its own: new orders, payments,
 * deliveries and reports, as fast as they go.
 *
 * <p>This is Steelyard's own program. It is in the spirit of SPECjbb2005 (a warehouse a thread, much
 * garbage, no input or output) and shares neither its code, nor its rules, nor its results: it is not
 * a SPEC benchmark, and its scores must not be set beside scores of one. "bops" are the business
 * operations that all warehouses finish in a second of the measured time.
 *
 * <pre>java Warehouse.java WARM_UP_SECONDS SECONDS WAREHOUSES [WORKING_SET_MB]</pre>
 *
 * Prints one line of JSON. WORKING_SET_MB (default 8) is each warehouse's stock, private to its thread.
 * Exit code 2: wrong arguments. Needs Java 17 or later.
 */
public final class Warehouse implements Runnable {
    /** What a part of an order asks for. */
    private record Line(int item, int quantity, long cents) {}

    /** An order: small, and dead soon after its delivery. */
    private record Order(long number, int customer, Line[] lines, String note) {
        long cents() {
            long sum = 0;
            for (Line line : lines) {
                sum += line.cents();
            }
            return sum;
        }
    }

    private static final int CUSTOMERS = 3_000;
    private static final int LINES_MOST = 15;
    private static final int OPEN_ORDERS_MOST = 2_000;
    private static final int HISTORY = 4;
    private static final int ITEM_BYTES = 2 * Integer.BYTES + Long.BYTES;

    // shares of the six operations, in per cent and summed up: new order, payment, order status,
    // delivery, stock level, customer report
    private static final int[] MIX = {42, 84, 88, 92, 96, 100};

    private static volatile boolean measuring;
    private static volatile boolean over;

    private final SplittableRandom chance;
    private final int[] quantity;
    private final int[] sold;
    private final long[] price;
    private final long[] balance = new long[CUSTOMERS];
    private final Map<Integer, ArrayDeque<Order>> history = new HashMap<>();
    private final ArrayDeque<Order> open = new ArrayDeque<>();
    private final CountDownLatch ready;
    private long number;
    private long checksum;
    private long operations;

    private Warehouse(int seed, int workingSetMb, CountDownLatch ready) {
        this.chance = new SplittableRandom(seed);
        this.ready = ready;
        int items = workingSetMb * (1 << 20) / ITEM_BYTES;
        quantity = new int[items];
        sold = new int[items];
        price = new long[items];
        Arrays.fill(quantity, 100);
        Arrays.setAll(price, item -> 100 + chance.nextInt(9_900));
    }

    @Override
    public void run() {
        ready.countDown();
        long before = 0;
        boolean counted = false;
        while (!over) {
            if (measuring && !counted) {
                counted = true;
                before = number;
            }
            operate();
            number++;
        }
        operations = counted ? number - before : 0;
    }

    private void operate() {
        int dice = chance.nextInt(100);
        if (dice < MIX[0]) {
            newOrder();
        } else if (dice < MIX[1]) {
            balance[chance.nextInt(CUSTOMERS)] -= 100 + chance.nextInt(500_000);
        } else if (dice < MIX[2]) {
            Order last = lastOrder(chance.nextInt(CUSTOMERS));
            checksum += last == null ? 0 : last.note().hashCode();
        } else if (dice < MIX[3]) {
            deliver();
        } else if (dice < MIX[4]) {
            stockLevel();
        } else {
            report(chance.nextInt(CUSTOMERS));
        }
    }

    private void newOrder() {
        int customer = chance.nextInt(CUSTOMERS);
        Line[] lines = new Line[5 + chance.nextInt(LINES_MOST - 4)];
        for (int i = 0; i < lines.length; i++) {
            int item = chance.nextInt(quantity.length);
            int wanted = 1 + chance.nextInt(10);
            // what runs out comes in again
            quantity[item] = quantity[item] > wanted + 10 ? quantity[item] - wanted : quantity[item] + 91;
            sold[item] += wanted;
            lines[i] = new Line(item, wanted, wanted * price[item]);
        }
        Order order = new Order(number, customer, lines, "order " + number + " of customer " + customer);
        open.addLast(order);
        ArrayDeque<Order> own = history.computeIfAbsent(customer, c -> new ArrayDeque<>(HISTORY + 1));
        own.addLast(order);
        if (own.size() > HISTORY) {
            own.removeFirst();
        }
        if (open.size() > OPEN_ORDERS_MOST) {
            deliver();
        }
    }

    private void deliver() {
        for (int i = 0; i < 10 && !open.isEmpty(); i++) {
            Order order = open.removeFirst();
            balance[order.customer()] += order.cents();
        }
    }

    private Order lastOrder(int customer) {
        ArrayDeque<Order> own = history.get(customer);
        return own == null ? null : own.peekLast();
    }

    private void stockLevel() {
        int low = 0;
        Iterator<Order> latest = open.descendingIterator();
        for (int i = 0; i < 20 && latest.hasNext(); i++) {
            for (Line line : latest.next().lines()) {
                low += quantity[line.item()] < 20 ? 1 : 0;
            }
        }
        checksum += low;
    }

    private void report(int customer) {
        List<String> rows = new ArrayList<>();
        for (Order order : history.getOrDefault(customer, new ArrayDeque<>())) {
            rows.add(order.note() + ": " + order.cents() + " cents, " + order.lines().length + " lines");
        }
        checksum += String.join("\n", rows).hashCode() + balance[customer];
    }

    public static void main(String[] arguments) throws InterruptedException {
        double warmUp = 0;
        double measure = 0;
        int warehouses = 0;
        int workingSetMb = 8;
        try {
            warmUp = Double.parseDouble(arguments[0]);
            measure = Double.parseDouble(arguments[1]);
            warehouses = Integer.parseInt(arguments[2]);
            workingSetMb = arguments.length > 3 ? Integer.parseInt(arguments[3]) : workingSetMb;
        } catch (NumberFormatException | ArrayIndexOutOfBoundsException wrong) {
            usage("not a number, or too few arguments: " + wrong.getMessage());
        }
        if (!(warmUp >= 0 && measure > 0) || warehouses < 1 || workingSetMb < 1 || workingSetMb > 1024) {
            usage("seconds must be positive, warehouses 1 or more, the working set 1 to 1024 MB");
        }
        CountDownLatch ready = new CountDownLatch(warehouses);
        List<Warehouse> all = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < warehouses; i++) {
            Warehouse warehouse = new Warehouse(i + 1, workingSetMb, ready);
            all.add(warehouse);
            threads.add(new Thread(warehouse, "warehouse-" + i));
        }
        threads.forEach(Thread::start);
        ready.await();
        Thread.sleep((long) (warmUp * 1_000));
        long collectedBefore = collectingMs();
        long start = System.nanoTime();
        measuring = true;
        Thread.sleep((long) (measure * 1_000));
        double seconds = (System.nanoTime() - start) / 1e9;
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
        tell(all, seconds, collectingMs() - collectedBefore, workingSetMb);
    }

    private static void tell(List<Warehouse> all, double seconds, long collectingMs, int workingSetMb) {
        long operations = all.stream().mapToLong(warehouse -> warehouse.operations).sum();
        long checksum = all.stream().mapToLong(warehouse -> warehouse.checksum).sum();
        System.out.printf(
                Locale.ROOT,
                "{\"bops\": %.1f, \"operations\": %d, \"seconds\": %.3f, \"warehouses\": %d,"
                        + " \"working_set_mb\": %d, \"collecting_ms\": %d, \"processors\": %d,"
                        + " \"java\": \"%s\", \"checksum\": %d,"
                        + " \"note\": \"Steelyard's own program, not a SPEC benchmark\"}%n",
                operations / seconds,
                operations,
                seconds,
                all.size(),
                workingSetMb,
                collectingMs,
                Runtime.getRuntime().availableProcessors(),
                System.getProperty("java.version"),
                checksum);
    }

    private static long collectingMs() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(GarbageCollectorMXBean::getCollectionTime)
                .sum();
    }

    private static void usage(String wrong) {
        System.err.println(wrong);
        System.err.println("usage: java Warehouse.java WARM_UP_SECONDS SECONDS WAREHOUSES [WORKING_SET_MB]");
        System.exit(2);
    }
}
