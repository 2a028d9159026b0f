package steelyard;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** The lab's side: lines of JSON, events out and commands in. */
final class Lines {
    static final ObjectMapper JSON = new ObjectMapper();
    private static final String END = "";

    private final PrintStream out;
    // made at the start: a full heap has no room for it
    private final byte[] heapIsFull = (event("failed").put("cause", "the heap of the Java engine is full:"
            + " raise workload.driver_heap_mib") + "\n").getBytes(StandardCharsets.UTF_8);
    private final BlockingQueue<String> commands = new LinkedBlockingQueue<>();

    Lines(PrintStream out) {
        this.out = out;
    }

    ObjectNode event(String name) {
        return JSON.createObjectNode().put("event", name);
    }

    void say(ObjectNode event) {
        String line = event.toString();
        synchronized (out) {
            out.println(line);
            out.flush();
        }
    }

    /** Reports a full heap without an allocation. */
    void heapIsFull() {
        synchronized (out) {
            out.write(heapIsFull, 0, heapIsFull.length);
            out.flush();
        }
    }

    /** Says once per second that the engine is alive. */
    void beat() {
        daemon("alive", () -> {
            while (true) {
                Thread.sleep(1000);
                say(event("alive"));
            }
        });
    }

    void listen(InputStream in) {
        daemon("commands", () -> {
            try (BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    commands.add(line);
                }
            }
            commands.add(END);
            return null;
        });
    }

    /** The next command. Throws IOException when the lab has closed its end. */
    String command() throws IOException, InterruptedException {
        String line = commands.take();
        if (line.equals(END)) {
            throw new IOException("standard input has ended");
        }
        return line;
    }

    private static void daemon(String name, java.util.concurrent.Callable<Void> body) {
        Thread thread = new Thread(() -> {
            try {
                body.call();
            } catch (Exception ended) {
                // the process ends with its main thread
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }
}
