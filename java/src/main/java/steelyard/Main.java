package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.SequenceInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;

/**
 * The engine's process. Its argument is a file with the plan, one line of JSON; commands come on the lines after
 * it and on standard input, events and the result go to standard output. With `prepare` before it: executes SQL once and reports facts.
 * With `trial` before it: executes each transaction once. With `query` alone: executes the queries that come on standard input.
 */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) throws InterruptedException {
        // drivers may print: what the lab reads is kept apart
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Lines lines = new Lines(out);
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> fail(lines, error));
        boolean prepares = arguments.length > 1 && arguments[0].equals("prepare");
        boolean tries = arguments.length > 1 && arguments[0].equals("trial");
        try {
            if (arguments[0].equals("query")) {
                new Queries(lines).serve(System.in);
                Runtime.getRuntime().halt(0);
            }
            String text = Files.readString(Path.of(arguments[arguments.length - 1]));
            int end = text.indexOf('\n') < 0 ? text.length() : text.indexOf('\n') + 1;
            JsonNode plan = Lines.JSON.readTree(text.substring(0, end));
            Target.load(plan.path("jdbc"));
            if (prepares) {
                lines.say(lines.event("prepared").setAll(Preparation.of(plan.path("jdbc"))));
            } else if (tries) {
                lines.say(lines.event("tried").setAll(Trial.of(plan)));
            } else {
                lines.beat();
                InputStream commands = new ByteArrayInputStream(text.substring(end).getBytes(StandardCharsets.UTF_8));
                lines.listen(new SequenceInputStream(commands, System.in));
                lines.say(lines.event("result").set("result", new Engine(plan, lines).run()));
            }
        } catch (Unreachable error) {
            lines.say(lines.event(prepares ? "unreachable" : "failed").put("cause", error.getMessage()));
        } catch (SQLException error) {
            lines.say(lines.event("failed").put("cause", Client.described(error)));
        } catch (PlanError | IOException error) {
            lines.say(lines.event("failed").put("cause", Client.brief(error)));
        }
        // a driver's threads may go on
        out.flush();
        Runtime.getRuntime().halt(0);
    }

    /** What no thread of ours expects. */
    private static void fail(Lines lines, Throwable error) {
        String why = error.getMessage();
        boolean memory = error instanceof OutOfMemoryError && why != null;
        if (memory && (why.startsWith("Java heap space") || why.startsWith("GC overhead"))) {
            lines.heapIsFull();
        } else {
            error.printStackTrace();
            if (memory) {
                lines.say(lines.event("failed").put("cause", "the Java engine is out of memory: " + why));
            }
        }
        Runtime.getRuntime().halt(1);
    }
}
