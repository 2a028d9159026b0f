package steelyard;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The part of one engine where several, on hosts of their own, do the work of one, as in crates/load/src/plan/share.rs:
 * client n of all is client n / hosts of host n % hosts.
 *
 * @param waits whether each stretch of load begins when the lab says so
 * @param counters how many numbers were drawn of each sequence
 */
record Share(int host, int hosts, boolean waits, List<AtomicLong> counters) {
    /** Of a plan; without a share it is the only engine. Throws PlanError for what hosts cannot divide. */
    static Share of(JsonNode plan) {
        JsonNode given = plan.path("share");
        Share share = new Share(given.path("host").asInt(0), given.path("hosts").asInt(1), given.isObject(),
                new ArrayList<>());
        if (share.host < 0 || share.host >= share.hosts) {
            throw new PlanError("share: needs host below hosts");
        }
        for (JsonNode clients : plan.path("points")) {
            if (clients.asInt() < share.hosts) {
                throw new PlanError("points: " + clients.asInt() + " clients cannot be divided among " + share.hosts + " hosts");
            }
        }
        for (JsonNode transaction : plan.path("transactions")) {
            if (share.hosts > 1 && !transaction.path("takes").isEmpty()) {
                throw new PlanError("transactions: messages between transactions stay within one host");
            }
        }
        return share;
    }

    AtomicLong counter() {
        counters.add(new AtomicLong());
        return counters.get(counters.size() - 1);
    }

    /** The most numbers that were drawn of one sequence. */
    long numbered() {
        return counters.stream().mapToLong(AtomicLong::get).max().orElse(0);
    }

    /** Of so many clients, those of this host. */
    int clients(int all) {
        return (all - host + hosts - 1) / hosts;
    }

    /** The number among all clients of this host's client, or of a sequence whose other numbers other hosts use. */
    long number(long own) {
        return host + own * hosts;
    }
}
