"""From an engine's result to the tables of a run: times from its origin, samples, notices."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from steelyard.lab.engines.result import ENGINE_TABLES, EngineResult
from steelyard.run_tables.rows import Columns, Rows, each
from steelyard.study.workloads.workload import Workload

# a rare transaction that failed once or twice may succeed the next time
_FAILURES_MIN = 3
# columns that count from the run's origin in a bundle
_TIMES = {
    "phases": ("start_ns", "end_ns"),
    "samples": ("t_ns",),
    "host_load": ("began_ns",),
    "host_samples": ("t_ns",),
}
# of the transactions done: fewer arrivals without a client hardly move a percentile
_BACKLOG_SHARE = 0.01
# wait events of PostgreSQL whose cause is outside of the transaction, by their beginning
_EVENTS = {
    "Lock:": ": a lock that another session holds",
    "IPC:SyncRep": ": no standby of synchronous_standby_names confirms the commit",
    "Client:ClientRead": ": the server expects data, as of COPY ... FROM STDIN",
    "Timeout:PgSleep": ": the transaction sleeps",
}

_SUMMED = ("gets", "misses", "spin_gets", "sleeps", "wait_ns", "hand_overs")


def run_tables(result: EngineResult, origin_ns: int) -> dict[str, Columns]:
    """The tables of the bundle in an engine's result; times of phases and samples count from origin_ns."""
    tables = {name: columns for name, columns in result.tables.items() if name not in ENGINE_TABLES}
    for name, times in _TIMES.items():
        if name in tables:
            shifted = {time: [t_ns - origin_ns for t_ns in tables[name][time]] for time in times}
            tables[name] = {**tables[name], **shifted}
    if "latches" in tables:
        tables["latches"] = _latch_families(result)
    return tables


def engine_samples(result: EngineResult, t_ns: int) -> Columns:
    """Samples of the engine's facts, and of its sessions' inspections, summed over clients."""
    samples, facts = Rows("samples"), result.facts
    for metric in ("threads", "connections_made", "reconnections", "numbered", "connect_ns_mean"):
        if (value := getattr(facts, metric)) is not None:
            samples.add(t_ns=t_ns, monitor="engine", entity="engine", metric=metric, value=float(value))
    for point, waiting in enumerate(facts.backlog or ()):
        entity = f"point{point}"
        samples.add(t_ns=t_ns, monitor="engine", entity=entity, metric="backlog", value=float(waiting))
    sums: dict[tuple[str, str], float] = {}
    if inspected := result.tables.get("inspect"):
        for name, metric, value in each(inspected, "name", "metric", "value"):
            sums[name, metric] = sums.get((name, metric), 0.0) + value
    for (name, metric), value in sums.items():
        samples.add(t_ns=t_ns, monitor="inspect", entity=name, metric=metric, value=value)
    return samples.columns()


def backlog_notices(result: EngineResult) -> Iterator[tuple[str, str]]:
    """Notices about arrivals of an open loop without a client: their latency is a lower bound.

    A few that wait when the time is over are chance.
    """
    phases = result.tables["phases"]
    clients = dict(zip(phases["point"], phases["clients"], strict=True))
    for point, waiting in enumerate(result.facts.backlog or ()):
        own = each(result.tables["clients"], "point", "transactions")
        done = sum(transactions for at, transactions in own if at == point)
        if waiting > _BACKLOG_SHARE * done:
            arrivals = "arrival" if waiting == 1 else "arrivals"
            yield (
                "backlog",
                f"at {clients.get(point, 0)} clients {waiting:,} {arrivals} still waited for a client at"
                " the end: the rate exceeds the server's capacity, and latencies are lower bounds,"
                " because they count these arrivals with their waiting time until the end",
            )


def error_notices(tables: Mapping[str, Columns], meanings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """One notice per kind of server error, with its meaning; meanings: by the beginning of the message."""
    messages = tables["errors"]["message"] if "errors" in tables else ()
    for number, meaning in meanings.items():
        if any(str(message).startswith(number) for message in messages):
            yield "server-error", f"error {number.strip('()')}: {meaning}"


def why_nothing(tables: Mapping[str, Columns]) -> str:
    """The cause of a run without transactions: its most frequent error, and what its sessions waited for."""
    waits = _waits(tables)
    errors = tables.get("errors", {"count": (), "code": (), "message": ()})
    kinds = sorted(each(errors, "count", "code", "message"), reverse=True)
    if not kinds:
        why = waits or "raise plan.measure_s or workload.deadline_ms"
        return f"no transaction ended in the measure phase: {why}"
    count, code, message = kinds[0]
    return f"no transaction succeeded; {count} failed with {code}: {message}{waits and '; ' + waits}"


def _waits(tables: Mapping[str, Columns]) -> str:
    """The sampled wait event that the sessions were in at least half of the time, and its meaning; or ''."""
    seen = _last(tables, "samples_total") or _last(tables, "waiting_total")
    event = max(seen, key=seen.__getitem__, default="")
    share = seen.get(event, 0) / max(1, sum(seen.values()))
    if share < 0.5 or event.startswith("CPU"):
        return ""
    meaning = next((text for begin, text in _EVENTS.items() if event.startswith(begin)), "")
    held = _last(tables, "held_total")
    by = f": {max(held, key=held.__getitem__)}" if held and event.startswith("Lock:") else ""
    return f"the sessions waited {100 * share:.0f} % of the time for {event}{meaning}{by}"


def _last(tables: Mapping[str, Columns], metric: str) -> dict[str, float]:
    """The last sample of a metric of waits, by entity."""
    samples = tables.get("samples", {"metric": (), "entity": (), "value": ()})
    return {entity: n for name, entity, n in each(samples, "metric", "entity", "value") if name == metric}


def outcome(workload: Workload, result: EngineResult, tables: Mapping[str, Columns]) -> tuple[float, str]:
    """Work per second of a run, and why it is no result all the same ('': it is one)."""
    if not (tps := _work_done(tables, workload.lower_is_better)):
        return tps, why_nothing(tables)
    return tps, _never_succeeded(result) if workload.steady else ""


def _never_succeeded(result: EngineResult) -> str:
    """Why a run is no result though most of its work succeeds: a kind of transaction that never does."""
    if "transactions" not in result.tables:
        return ""
    done: dict[str, int] = {}
    failed: dict[str, tuple[int, str]] = {}
    for name, count, errors, code, message in each(
        result.tables["transactions"], "transaction", "count", "errors", "code", "message"
    ):
        done[name] = done.get(name, 0) + count
        if errors:
            before, why = failed.get(name, (0, f"{code}: {message}"))
            failed[name] = before + errors, why
    for name, (errors, why) in failed.items():
        if errors >= _FAILURES_MIN and not done[name]:
            return f'the transaction "{name}" never succeeded; {errors} failed, the first with {why}'
    return ""


def _work_done(tables: Mapping[str, Columns], lower_is_better: bool) -> float:
    """Transactions per second; of programs the best load point: total, or mean where lower wins."""
    if "scores" in tables:
        found: dict[int, list[float]] = {}
        for point, score in each(tables["scores"], "point", "score"):
            found.setdefault(point, []).append(score)
        if lower_is_better:
            return min(map(fmean, found.values()), default=0.0)
        return max(map(sum, found.values()), default=0.0)
    seconds = sum(
        (end - start) / 1e9
        for phase, start, end in each(tables["phases"], "phase", "start_ns", "end_ns")
        if phase == "measure"
    )
    count = sum(
        count
        for statement, second, count in each(tables["throughput"], "statement", "second", "count")
        if statement == "transaction" and second >= 0
    )
    return count / seconds if seconds else 0.0


def noticed(tables: Mapping[str, Columns], notices: Sequence[tuple[str, str]]) -> dict[str, Columns]:
    """The tables with further notices, code and text each, before the existing ones."""
    rows = Rows("notices")
    for code, text in notices:
        rows.add(code=code, text=text)
    if "notices" in tables:
        rows.extend(tables["notices"])
    return {**tables, "notices": rows.columns()}


def _latch_families(result: EngineResult) -> Columns:
    """One row per load point: its child latches, summed. Numbers that the protocol does not show are None."""
    children, facts = result.tables["latches"], result.facts
    unseen = {
        *(() if facts.sees_misses else ("misses", "spin_gets")),
        *(() if facts.sees_sleeps else ("sleeps", "wait_ns")),
    }
    # without a spin budget a worker sleeps at once, or spins until it has the latch, as in queueing protocols
    sleeps = facts.sees_sleeps and not facts.in_turn
    spin = facts.spin or (0 if sleeps else None)
    histograms = {
        (point, kind): histogram
        for point, kind, histogram in each(result.tables["latch_histograms"], "point", "kind", "histogram")
    }
    rows = Rows("latches")
    for point in dict.fromkeys(children["point"]):
        family = [index for index, other in enumerate(children["point"]) if other == point]
        sums = {
            name: sum(children[name][index] for index in family) for name in _SUMMED if name not in unseen
        }
        rows.add(
            point=point,
            latch=str(children["latch"][family[0]]).partition("#")[0],
            children=len(family),
            spin=spin,
            hold_histogram=histograms.get((point, "hold")),
            wait_histogram=histograms.get((point, "wait")),
            **sums,
        )
    return rows.columns()
