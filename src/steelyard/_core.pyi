"""What the Rust crates give to Python."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

__version__: str

class PlanError(Exception):
    """The plan cannot be run; the message names the field."""

class TableError(Exception):
    """A dispatch table is wrong. args: number of the line, cause."""

class LoadError(Exception):
    """The run could not start or go on; the message says why, never with a password."""

def load_run(
    plan_json: str, on_event: Callable[[str], None], commands: Callable[[float], str | None] | None = None
) -> str:
    """Runs one plan (crates/load/src/plan.rs) and returns its result as JSON.

    on_event gets lines of JSON: {"event": "phase", "phase", "point", "clients", "t_ns"} as each
    phase begins, {"event": "tick", "t_ns", "point", "phase", "transactions", "errors"} once a second
    (cumulative) during load, and {"event": "alive", "t_ns", "point", "phase"} after each second without
    another event. Times are of CLOCK_MONOTONIC. The result holds columns: phases, throughput (seconds
    negative in the warm-up), latency (HdrHistogram V2, base64), clients, transactions (by kind, in measure,
    with the first error), errors, inspect, engine; asides, the transactions of the phases scheduling-trace
    and latch-count.
    A transaction counts where it ends; what ends after the point's end is not counted.
    engine.reconnections counts replaced connections of the measured load, whatever ended the old ones.
    engine.connections_lost counts, in all load (warm-up, measure, diagnostic phases), connections that the
    server closed or that broke, and clients without a connection at the end of a stretch of load because
    one that was closed at the deadline could not be replaced; connections_lost_cause: of the last one, null
    when there is none. Notice inspect-missed: sessions that did not answer within inspect_s.

    With `turns` the engine loads the server by commands alone, lines of JSON from commands(wait_s) (None:
    no command yet): {"do": "connect"} gives all clients new connections, {"do": "turn", "settle_ms",
    "measure_ms"} loads, {"do": "next"} ends the load point. It reports {"event": "connected", "point",
    "t_ns"} and {"event": "turn", "point", "start_ns", "measure_ns", "end_ns", "t_ns", "transactions",
    "first_half", "all", "profile", "lost", "lost_cause"}: at t_ns nothing is under way any more; transactions
    are those measured, first_half of these, all includes settling and draining; profile: of a turn without
    measured time, transactions in each of 20 equal parts of it, else []; lost: connections so far. Seconds
    and latencies are of the measured parts, one after another; the phase measure begins with the first of
    them and is as long as all. Needs a closed loop.

    server.protocol: "postgres" (default), "mysql" (MariaDB too) or "resp" (Valkey, Redis). With "resp" handle
    is "none", text "identical", parameters "client"; a statement is one command (`SET :key :value`), its
    words separated by blanks, `:name` a whole word whose value is one argument; a transaction is one
    statement without begin. server.socket is the Unix socket's path; AUTH is sent where password is not
    null, SELECT where database is not empty. session and inspect are commands without parameters; inspect
    reads a number as metric `value`, and of a text (INFO) each line `name:number`. errors.code is the first
    word of the error (WRONGTYPE).
    pipeline (default 1; above 1 only with "resp" and a closed loop): commands that a client sends before it
    reads their replies. Each is a transaction, and its latency begins when its batch is sent; an error reply
    fails its own command, a lost connection or the deadline all that have no reply yet.

    In place of `server` a plan may have `sqlite` (crates/load/src/plan/sqlite.rs): file, workers
    ("threads", or "processes" forked from this one), threading ("serialized" or "multi-thread"),
    shared_cache, begin ("deferred", "immediate", "exclusive"), memory_status, pragmas ([name, value] in
    order, each read back). Its result has samples as of `latch_run` (entity "point0/client0"), errors by
    SQLite's own codes (SQLITE_BUSY), and inspect of what each connection of the last point counts.
    Raises PlanError, LoadError, and whatever on_event raises.
    """

def load_check(plan_json: str) -> None:
    """Raises PlanError (`field: cause`) for a plan that `load_run` would refuse."""

def load_trial(plan_json: str) -> str:
    """Executes each transaction of a plan once, on a connection of its own, and rolls it back.

    The statements as JSON: columns transaction, statement (null: between statements), took_ns, code ('':
    it succeeded; `deadline`: longer than deadline_ms), message, value (the first of its rows, or null).
    A transaction stops at its first error. Texts, values and the way to send them are those of `load_run`.
    Raises PlanError; LoadError where it cannot connect.
    """

def sqlite_facts(database_json: str) -> str:
    """Opens the database of a plan's `sqlite` and sets what is set there; what it says then, as JSON.

    {"version", "settings": {name: as SQLite shows it}, "compile_options": [...]}; journal_mode stays set in
    the file. Raises LoadError, for a setting that was not taken with its name.
    """

def statement_parameters(sql: str, dialect: str) -> list[str]:
    """Names of the `:name` parameters in a statement, each once, in the order of their numbers."""

def statement_pieces(sql: str, dialect: str) -> list[tuple[Literal["text", "tag", "parameter"], str]]:
    """A statement in pieces: a text as it is, a tag, or a parameter with its name."""

def sql_tokens(sql: str, dialect: str) -> list[tuple[Any, str]]:
    """Kind and text of each token; together they are the text (crates/load/src/statements/lexer.rs)."""

def stub_serve(address: str, config_json: str, ready: Callable[[], None]) -> None:
    """Serves at a socket path or ADDRESS:PORT, answering at once, until a signal raises.

    config_json: {"delay_us": 0, "stall": {"at_s": 2.0, "for_ms": 500}}; the stall begins at_s after
    the first request. Raises PlanError for a bad configuration, OSError when it cannot listen.
    """

def histogram_quantiles(encoded: bytes, quantiles: Sequence[float]) -> list[int]:
    """Values (ns) at quantiles 0..1 of an encoded histogram. Raises ValueError."""

def histogram_summary(encoded: bytes) -> tuple[int, int, float, int]:
    """Count, lowest, mean, highest (ns). Raises ValueError."""

def histogram_merge(encoded: Sequence[bytes]) -> bytes:
    """One histogram of several. Raises ValueError."""

def histogram_of(counts: Sequence[tuple[int, int]]) -> bytes:
    """Of values (ns) and their numbers; beyond an hour counts as an hour. Raises OverflowError below 0."""

def latch_protocols() -> list[dict[str, Any]]:
    """The latch protocols, in the order of the registry (crates/latch/src/registry.rs).

    Each: name, source (paper or code), processes (works between processes), shared (readers do not
    exclude each other), children (may be split into child latches; false for whole caches), spin
    (default budget in iterations, 0: none to set), spins (times that it is spent before sleeping), in_turn
    (each waits for its turn and never sleeps), sees_misses and sees_sleeps (whether these counters
    can be seen from outside; where not they are 0), recovers (goes on after the death of a worker).
    """

def latch_check(plan_json: str) -> None:
    """Raises PlanError for a plan that `latch_run` would refuse."""

def latch_run(plan_json: str, on_event: Callable[[str], None]) -> str:
    """Runs a shared cache under one latch protocol (crates/latch/src/plan.rs); its result as JSON.

    Required: protocol, workers ("threads" or "processes", the latter forked from this process), points
    (numbers of workers), warm_up_s, measure_s, cool_down_s, seed. With defaults: children 1, spin null
    (iterations; null: the protocol's own), gets_per_lookup 2, hold_ns 0 (added to each hold),
    hold_tail null or {"probability", "hold_ns"} (a lookup's last hold is long), think_ns 0, read_share
    1.0, keys 1000, skew 0.0 (Zipf), payload_bytes 48, affinity "uniform" or "own" (keys of a worker's
    own children), cpus [] (workers pinned in turn; empty: free), groups 2 (cna), counters true,
    sample_every 16 (one lookup in so many is timed; fewer apart when lookups are slow).

    Events: {"event": "phase"}, {"event": "tick"} and {"event": "alive", "t_ns"} as of `load_run`, and
    {"event": "workers", "point", "pids" (empty for threads), "t_ns"} as workers start.
    The result has the columns of `load_run` (a lookup is a transaction; latency and its percentiles are of
    timed lookups, think time excluded; clients.errors are payloads that did not match their checksum),
    inspect empty, and
    latches (point, latch, gets, misses, spin_gets, sleeps, wait_ns, hand_overs; a row for each child,
    named protocol#child; measure phase only; hand_overs: exclusive gets after another worker's),
    latch_histograms (point, kind "hold" or "wait", count, histogram_base64: ns of timed gets, wait only
    of misses), samples (t_ns, entity "point0/worker0", metric, value: cpu_user_ns, cpu_system_ns,
    switches_voluntary, switches_involuntary of the measure phase; of "point0", measured before it between the
    first and the last CPU, line_transfer_ns and, of a latch that is spun for, hand_over_ns).
    errors: worker-died-recovered, worker-died (the protocol cannot recover), worker-stuck (ended by
    force after the point), torn, overlap (exclusive holders overlapped). engine: besides the keys of
    `load_run` (but io) busy_turn_ns, clock_ns (already taken off the times), sampled_every by point, spin
    (turns before a sleep), in_turn,
    sees_misses, sees_sleeps, and by point guarded and exclusive_gets, which are equal when holders
    excluded each other.
    Raises PlanError, LoadError, OSError when workers cannot be started, and whatever on_event raises.
    """

def latch_calibrate(cpus: Sequence[int]) -> str:
    """What this machine's primitives cost, between the first and the last of cpus, as JSON.

    cpus [first, last], rounds, and each {"min", "median", "max"} in ns: line_transfer_ns (a cache line
    one way, by ping-pong) and futex_other_cpu_ns (post to running), both null with one CPU only; wakes,
    also null then: medians by asleep_ns, from the miss to the release: wake_ns to the get, post_ns (release),
    and slept, the share that did sleep; pauses, null likewise: moments of pause_ns to 20 us in which a CPU
    executed nothing, per_s, and the share of them that stopped the other CPU too (common);
    futex_same_cpu_ns, clock_ns (one look at the clock), spin_turn_ns (one iteration of a spin budget),
    busy_turn_ns (of hold and think time). Raises PlanError.
    """

def latch_costs(cpus: Sequence[int], rounds: int) -> str:
    """Gets and hand-overs of each latch, counters on and off, in interleaved rounds; JSON list of rows.

    round, latch, counters, uncontended_ns (one get and release), and between the first and the last CPU
    (null with one, or where the threads kept losing theirs): line_transfer_ns, a cache line one way;
    hand_over_ns, from a release to the get of the one who stood in the queue by then; of two threads that
    do nothing but get the latch saturated_get_ns (elapsed by gets), saturated_misses_per_get (each a
    hand-over), saturated_hand_over_ns (elapsed by hand-overs, median over bursts in which every second get
    was one; null where a latch batches so that there is none). Raises PlanError.
    """

def latch_turns(plan_json: str, circumstances: Sequence[str], rounds: int) -> str:
    """The closed loop of `latch_run` under circumstances that alternate every half millisecond; JSON rows.

    plan_json: as for `latch_run`; workers are threads, on the first and the last of cpus. Circumstances:
    "one" and "two" (workers), "one-uncounted" and "two-uncounted" (counters off), "apart" (two, each with a
    cache of its own). A row for each turn and worker: round, circumstance, worker, lookups, ns, timed_gets
    and timed_misses among them (timed with counters off too), whole (it began in time and kept its CPU).
    Raises PlanError, OSError.
    """

def latch_simulate(plan_json: str) -> str:
    """The closed loop of `latch_run` as discrete events; deterministic for its seed.

    Plan (all times ns): workers, hold ({"kind": "constant", "ns"}, {"kind": "exponential", "mean_ns"} or
    {"kind": "values", "ns": [...], "share": [...]}: measured values, without share equally likely), think
    (likewise), spin_ns (budget as time, 0: sleeps at once), order "barging" (Oracle, LWLock) or "fifo"
    (granted in turn), duration_ns, seed;
    with defaults children 1 (chosen uniformly a lookup), gets_per_lookup 2, between_ns 0 (from get to get
    within a lookup), hand_over_ns 0 (from a release to the get of a spinner, during which others may get the
    latch; fifo: added to the hold), line_ns 0 (added to a hold after another worker's that found the latch
    free), wakes [] (by growing asleep_ns, from the miss to the release: wake_ns to
    the next try, post_ns that the release costs, slept 1: the share that did sleep), shared_gets false,
    read_share 1.0 (lookups whose last get is shared), preempted null or {"probability", "for_ns"} of a hold,
    cpus null (each worker has one) or {"count", "slice_ns" (mean CPU time until one is lost), "switch_ns"},
    warm_up_ns 0, until null or {"gets", "misses", "gets_max"}: goes on, beyond duration_ns, until half the
    95 % interval of gets (as a part of them) and of misses a get is that small, or gets_max are played.
    Gives lookups, lookups_per_s, gets, misses, spin_gets, sleeps, wait_ns, posted_ns, hand_overs of its
    duration_ns, events, and gets_half (relative), misses_half, sleeps_half (a get): half of 95 % intervals
    by 20 batch means. Raises PlanError.
    """

def dispatch_run(plan_json: str, on_event: Callable[[str], None]) -> str:
    """Simulates one machine under dispatch tables; the result as JSON. Deterministic for a plan.

    All times of the result are simulated ns from 0, where the warm-up begins.

    The plan (crates/dispatch/src/plan.rs, plan/); what has `=` may be left out:

        {"machine": {"cpus": 8, "cpus_per_chip": =1 (CPUs that share a cache), "lgroups": =1,
                     "clock_ghz": 2.28, "memory_latency_ns": 375, "remote_latency_ns": =null (as near),
                     "cache_kib": 6144 (a chip's), "line_bytes": =64, "mlp": =4 (misses overlapped),
                     "switch_cycles": =7600, "ast_delay_us": =0, "nosteal_us": =100,
                     "rechoose_ticks": =3},
         "sets": ={"name": [cpu, ...]},  (processor sets; other CPUs form one more)
         "tables": {"ts": "standard" | "extended" | text in dispadmin's form, "rt": =text, "fx": =text},
         "groups": [{"name" (no colon, not `transaction`, not `total`), "count",
                     "class": ="TS" | "IA" | "FX" | "RT", "nice": =0 (-20 to 19),
                     "priority": =null (FX 0-60, RT 0-59; TS, IA: level to start with, 29),
                     "foreground": =false (IA), "cpu": DIST, "sleep": DIST (mean 0: never sleeps),
                     "working_set_kib": =0, "set": =null, "arrive": ={"at_s": 0, "over_s": 0},
                     "fork": =0 (share of bursts that end in a fork)}, ...],
         "hz": =100, "update_s": =1 (0: none), "warm_up_s", "measure_s", "sample_s": =1, "seed",
         "trace": =null | {"threads": =[] ("group:number" each; none: all), "from_s": =0, "to_s",
                           "limit": =100000}}
        DIST: {"kind": "fixed" | "exponential", "mean_us"} | {"kind": "lognormal", "mean_us", "cv"}

    on_event gets {"event": "phase", ...} as warm-up and measure begin and {"event": "tick", "t_ns",
    "point", "phase", "transactions", "errors"} a few times a second of real time.

    The result holds the columns of `load_run`: phases (point 0; clients: all threads), throughput,
    latency (from wake-up to the end of the burst; a statement is a group, `transaction` all), clients
    (client: number of the thread in the order of the groups; of more than 1,000 threads every nth, so
    that at most 1,000 are told), errors and inspect (empty), engine {"events", "wall_s", "threads",
    "clients_told", "trace_cut"}. And of its own:

    samples: t_ns, entity, metric, value, every sample_s and at the end. Entity a group or `total`:
    cpu_ns_total (reload and switch within it), wait_ns_total, sleep_ns_total,
    voluntary_switches_total, involuntary_switches_total, quantum_switches_total (of the involuntary
    ones), quantum_expiries_total, migrations_total, steals_total, forks_total, reload_ns_total,
    switch_ns_total, longest_wait_ns (since the last sample), runnable_threads (running ones too).
    Entity `group:priority`, `total:priority`: priority_ns_total (global priority; on a CPU or waiting).

    trace, null unless asked for: {"intervals": cpu, thread, start_ns, end_ns, priority;
    "priorities": t_ns, thread, reason (start, expired, waited, returned, forked), from, to (levels),
    priority (global), quantum_ms}. A thread is called `group:number`.

    Raises PlanError (the field; for a table its line) and whatever on_event raises.
    """

def dispatch_life(request_json: str) -> str:
    """What becomes of a single thread: the columns `priorities` of a trace (`dispatch_run`), as JSON.

    request_json: {"tables" (as in a plan), "class", "from" (level), "behaviour": "cpu-bound" | "io-bound" |
    "starved", "hz", "seconds"}. Raises PlanError.
    """

def dispatch_table(class_name: str, table: str, hz: int) -> str:
    """A table as `dispadmin -g` prints it on a machine of hz ticks a second.

    class_name: TS, IA, RT, FX. table: `standard`, `extended` (TS, IA), or text in dispadmin's form.
    Raises TableError (line and cause), ValueError for an unknown class or hz 0.
    """

def calibrate_switches(cpu: int, sets: Sequence[int], repetitions: int) -> str:
    """Cost of a switch on a CPU for working sets (bytes), as JSON: [{"bytes", "switch", "walk_ns"}, ...].

    switch: {"ns", "low_ns", "high_ns", "n"}: median of the repetitions (5 or more) and its 95 % interval;
    noise can make it negative. walk_ns: one warm walk over the set. Raises OSError.
    """

def calibrate_memory(cpu: int, size_bytes: int, repetitions: int) -> str:
    """Latency of a chase in random order over so many bytes, as JSON like `switch` above. Raises OSError."""

def confine_thread(write: Sequence[str], bind: Sequence[int], connect: Sequence[int]) -> None:
    """Restricts the calling thread for ever, and with it all processes that it starts (Landlock).

    write: files and folders that they may write; bind, connect: TCP ports. Raises OSError for a path that
    does not exist, and where the kernel has no Landlock.
    """

def confinement() -> str:
    """What this kernel's Landlock restricts: `files and network`, `files` (from 5.19), or '' for nothing."""

class Probe:
    """Kernel probes over all CPUs (crates/probe/src/plan.rs); records nothing before `open`.

    plan_json: {"profile_hz": 0, "locks": false, "sched": false, "latches": null or {"program" (a PostgreSQL),
    "group" (a name for its probes in tracefs, which nobody else uses), "sleeps": true, "gets": false},
    "roots": [{"pid", "role"}], "cpus": [] (of the collecting thread)}. Raises PlanError. Descendants of a
    root have its role; others are kernel, idle or other.
    """

    def __init__(self, plan_json: str) -> None: ...
    @property
    def refused(self) -> list[tuple[str, str]]:
        """Sources that cannot be had here, each with the reason and what would mend it."""

    def open(self, purpose: str, point: int, start_ns: int, end_ns: int) -> None:
        """Records of a purpose count from now on: measure, scheduling-trace or latch-count.

        Times of CLOCK_MONOTONIC; what lies outside does not count. Raises ValueError.
        """

    def close(self) -> None:
        """Records no more until the next `open`."""

    def finish(self) -> str | None:
        """Ends; columns as JSON: profile, locks, latches, latch_gets, scheduling; and lost: no room.

        Columns that end in `_base64` are HdrHistograms, V2, ns. None where no source could be had, and
        at a second call.
        """
