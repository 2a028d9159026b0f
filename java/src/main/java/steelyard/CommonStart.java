package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.Locale;

/** When a stretch of load begins: now, or, of an engine among several, when the lab says; ns of CLOCK_MONOTONIC. */
final class CommonStart {
    private static final long LEAD_NS = 1_000_000;

    private final Share share;
    private final Lines lines;

    CommonStart(Share share, Lines lines) {
        this.share = share;
        this.lines = lines;
    }

    /** Of the next stretch of a load point. Throws IOException where it is over, or the command is another. */
    long next(int point) throws IOException, InterruptedException {
        if (!share.waits()) {
            return System.nanoTime() + LEAD_NS;
        }
        lines.say(lines.event("ready").put("point", point).put("t_ns", System.nanoTime()));
        String line = lines.command();
        JsonNode command = Lines.JSON.readTree(line);
        if (!command.path("do").asText().equals("start") || !command.path("at_ns").isIntegralNumber()) {
            throw new IOException("the command `" + line + "`: it must be start, with at_ns");
        }
        long atNs = command.path("at_ns").asLong();
        double lateMs = lateMs(atNs);
        if (lateMs > 0) {
            throw new IOException(
                    String.format(Locale.ROOT, "the command to start came %.1f ms after the common start", lateMs));
        }
        return atNs;
    }

    /** Of a turn; -1: it has begun on other hosts, and the lab, which learns of it, repeats it. */
    long ofTurn(int point, JsonNode command) {
        if (!command.hasNonNull("at_ns")) {
            return System.nanoTime() + LEAD_NS;
        }
        long atNs = command.path("at_ns").asLong();
        double lateMs = lateMs(atNs);
        if (lateMs <= 0) {
            return atNs;
        }
        lines.say(lines.event("late").put("point", point).put("late_ms", lateMs).put("t_ns", System.nanoTime()));
        return -1;
    }

    /** HotSpot's System.nanoTime() is CLOCK_MONOTONIC on Linux, to which the lab's instants belong. */
    private static double lateMs(long atNs) {
        return (System.nanoTime() - atNs) / 1e6;
    }
}
