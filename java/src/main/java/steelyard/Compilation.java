package steelyard;

import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import javax.management.JMException;
import javax.management.ObjectName;

/** What the JVM has compiled, and the CPU that this took. */
final class Compilation {
    private static final String COMMANDS = "com.sun.management:type=DiagnosticCommand";
    private static final String LIST = "compilerCodelist";
    private static final Path THREADS = Path.of("/proc/self/task");
    /** HotSpot's compilers are no threads of Java; the kernel cuts their names off: C2 CompilerThre. */
    private static final String COMPILER = "CompilerThre";

    private long highest;
    private long usedNs;
    /** CPU of each compiler's thread at the last look, ns; -1: the thread compiles nothing. */
    private final Map<String, Long> seen = new HashMap<>();

    /**
     * CPU of the compilers' threads until now, ns, also of a method under way: large ones take seconds. A JVM without
     * such threads says the time of a method when it is done.
     */
    long ns() {
        boolean known = false;
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(THREADS)) {
            for (Path thread : threads) {
                known |= add(thread);
            }
        } catch (IOException unknown) {
            // no /proc: the JVM's own account is left
        }
        return known ? usedNs : ownAccountNs();
    }

    /** Whether the thread is a compiler's; adds what it used since the last look. */
    private boolean add(Path thread) {
        String number = thread.getFileName().toString();
        try {
            long before = seen.getOrDefault(number, 0L);
            if (before < 0 || before == 0 && !Files.readString(thread.resolve("comm")).contains(COMPILER)) {
                seen.put(number, -1L);
                return false;
            }
            String statistics = Files.readString(thread.resolve("schedstat"));
            long now = Long.parseLong(statistics, 0, statistics.indexOf(' '), 10);
            // a new thread may have the number of an ended one
            usedNs += Math.max(0, now - before);
            seen.put(number, now);
            return true;
        } catch (IOException ended) {
            return false;
        }
    }

    private static long ownAccountNs() {
        CompilationMXBean compilers = ManagementFactory.getCompilationMXBean();
        return compilers == null ? 0 : compilers.getTotalCompilationTime() * 1_000_000;
    }

    /** How many methods: the highest number of one in the code cache. 0: this JVM lists none (only HotSpot does). */
    long methods() {
        try {
            Object list = ManagementFactory.getPlatformMBeanServer()
                    .invoke(new ObjectName(COMMANDS), LIST, new Object[0], new String[0]);
            list.toString().lines().forEach(line -> highest = Math.max(highest, number(line)));
        } catch (JMException unknown) {
            // the CPU alone says when it is quiet
        }
        return highest;
    }

    /** Of `1234 3 0 java.lang.String.hashCode()I [...]`; 0: the line begins otherwise. */
    private static long number(String line) {
        String text = line.strip();
        int end = text.indexOf(' ');
        try {
            return end < 0 ? 0 : Long.parseLong(text, 0, end, 10);
        } catch (NumberFormatException other) {
            return 0;
        }
    }
}
