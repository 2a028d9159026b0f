package steelyard;

import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;

/** Messages between transactions: what one sends, another takes when it is due. */
final class Queues {
    private record Message(long dueNs, long number, Value[] values) implements Comparable<Message> {
        @Override
        public int compareTo(Message other) {
            return dueNs != other.dueNs ? Long.compare(dueNs, other.dueNs) : Long.compare(number, other.number);
        }
    }

    private final Map<String, PriorityQueue<Message>> waiting = new HashMap<>();
    private long sent;

    Queues(Transaction[] transactions) {
        for (Transaction one : transactions) {
            one.takes.forEach(taking -> waiting.put(taking.queue(), new PriorityQueue<>()));
        }
    }

    boolean has(String queue) {
        return waiting.containsKey(queue);
    }

    synchronized void send(String queue, long dueNs, Value[] values) {
        waiting.get(queue).add(new Message(dueNs, sent++, values));
    }

    /**
     * Gives the values of the messages that are due to their places; NULL where a message lacks. Returns when the last
     * that was needed was due; 0: too few are.
     */
    synchronized long take(Transaction transaction, Value[] values, long nowNs) {
        long readyNs = 0;
        for (Taking one : transaction.takes) {
            if (one.least() > 0) {
                long dueNs = dueOf(waiting.get(one.queue()), one.least());
                if (dueNs == 0 || dueNs > nowNs) {
                    return 0;
                }
                readyNs = Math.max(readyNs, dueNs);
            }
        }
        for (Taking one : transaction.takes) {
            PriorityQueue<Message> queue = waiting.get(one.queue());
            for (int[] places : one.places()) {
                Message message = !queue.isEmpty() && queue.peek().dueNs <= nowNs ? queue.poll() : null;
                for (int value = 0; value < places.length; value++) {
                    if (message == null) {
                        values[places[value]].setNull();
                    } else {
                        values[places[value]].set(message.values[value]);
                    }
                }
            }
        }
        return readyNs;
    }

    /** When the message of this number, from 1, is due; 0: there is none. */
    private static long dueOf(PriorityQueue<Message> queue, int number) {
        return queue.size() < number ? 0 : queue.stream().sorted().skip(number - 1L).findFirst().orElseThrow().dueNs;
    }
}
