package steelyard;

import java.lang.management.ManagementFactory;
import javax.management.JMException;
import javax.management.ObjectName;

/** What the JVM has compiled since its start, as it counts by itself. */
final class Compilation {
    private static final String COMMANDS = "com.sun.management:type=DiagnosticCommand";
    private static final String LIST = "compilerCodelist";

    private long highest;

    /** Of the compiler's threads; a method counts when it is done. */
    static long timeMs() {
        return ManagementFactory.getCompilationMXBean().getTotalCompilationTime();
    }

    /** How many methods: the highest number of one in the code cache. 0: this JVM lists none (only HotSpot does). */
    long methods() {
        try {
            Object list = ManagementFactory.getPlatformMBeanServer()
                    .invoke(new ObjectName(COMMANDS), LIST, new Object[0], new String[0]);
            list.toString().lines().forEach(line -> highest = Math.max(highest, number(line)));
        } catch (JMException unknown) {
            // the time alone says when it is quiet
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
