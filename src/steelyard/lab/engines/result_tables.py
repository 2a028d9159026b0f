"""From an engine's result to the tables of a run: times from its origin, samples, notices."""

from collections.abc import Callable, Iterator, Mapping

from steelyard.lab.engines.result import EngineResult, Notice, Sample, Tables
from steelyard.run_tables.questions import asked
from steelyard.run_tables.rows import Columns, each
from steelyard.run_tables.schema import ENGINE_TABLES
from steelyard.study.workloads.workload import Workload

# columns that count from the run's origin in a bundle
_TIMES = {
    "phases": ("start_ns", "end_ns"),
    "samples": ("t_ns",),
    "host_load": ("began_ns",),
    "host_samples": ("t_ns",),
}
# of the transactions done: fewer arrivals without a client hardly move a percentile
_BACKLOG_SHARE = 0.01
_CLIENTS = """
select coalesce(max(clients), 0), coalesce((select sum(transactions) from clients where point = $1), 0)
from phases where point = $1
"""
# the sampled wait event that the sessions were in at least half of the time, with the meaning of those of
# PostgreSQL whose cause is outside of the transaction
_WAITS = """
with seen as (
    select metric, entity, arg_max(value, rowid) as n from samples
    where metric in ('samples_total', 'waiting_total', 'held_total') group by all
), most as (
    select entity, 100 * n / greatest(1, sum(n) over ()) as share from seen
    where metric = (select min(metric) from seen where metric <> 'held_total')
    order by n desc limit 1
)
select format('the sessions waited {:.0f} % of the time for {}{}', share, entity, case
    when entity like 'Lock:%' then ': a lock that another session holds'
        || coalesce(': ' || (select arg_max(entity, n) from seen where metric = 'held_total'), '')
    when entity like 'IPC:SyncRep%' then ': no standby of synchronous_standby_names confirms the commit'
    when entity like 'Client:ClientRead%' then ': the server expects data, as of COPY ... FROM STDIN'
    when entity like 'Timeout:PgSleep%' then ': the transaction sleeps'
    else '' end) as waits
from most where share >= 50 and entity not like 'CPU%'
"""
# a run is no result, though most of its work succeeds, for a kind of transaction that never does; a rare one
# that failed once or twice may succeed the next time
_NEVER = """
select format('the transaction "{}" never succeeded; {} failed, the first with {}: {}', transaction,
    sum(errors), arg_min(code, rowid) filter (errors > 0), arg_min(message, rowid) filter (errors > 0)) as why
from transactions group by transaction having sum(errors) >= 3 and sum(count) = 0
order by min(rowid) filter (errors > 0) limit 1
"""
_DONE = """
select 1e9 * sum(count)
    / nullif((select sum(end_ns - start_ns) from phases where phase = 'measure'), 0) as done
from throughput where statement = 'transaction' and second >= 0
"""
_LOWEST = "select min(done) as done from (select avg(score) as done from scores group by point)"
_HIGHEST = "select max(done) as done from (select sum(score) as done from scores group by point)"
# one row per load point: its child latches, summed; NULL: not shown by the protocol
_FAMILIES = """
select point, split_part(first(latch order by rowid), '#', 1) as latch, count(*) as children,
    $1::bigint as spin,
    any_value(hold) as hold_histogram, any_value(wait) as wait_histogram,
    sum(gets)::bigint as gets, sum(hand_overs)::bigint as hand_overs,
    if($2, sum(misses), null)::bigint as misses, if($2, sum(spin_gets), null)::bigint as spin_gets,
    if($3, sum(sleeps), null)::bigint as sleeps, if($3, sum(wait_ns), null)::bigint as wait_ns
from latches left join (
    select point, first(histogram) filter (kind = 'hold') as hold,
        first(histogram) filter (kind = 'wait') as wait
    from latch_histograms group by point
) using (point)
group by point order by min(rowid)
"""


def run_tables(result: EngineResult, origin_ns: int) -> dict[str, Columns]:
    """The tables of the bundle in an engine's result; times of phases and samples count from origin_ns."""
    stored = {name: columns for name, columns in result.tables.items() if name not in ENGINE_TABLES}
    tables = on_clock(stored, lambda t_ns: t_ns - origin_ns)
    if "latches" in tables:
        facts = result.facts
        # without a spin budget a worker sleeps at once, or spins until it has the latch, as where it queues
        spin = facts.spin or (0 if facts.sees_sleeps and not facts.in_turn else None)
        tables["latches"] = asked(_FAMILIES, result.tables, spin, facts.sees_misses, facts.sees_sleeps)
    return tables


def on_clock(tables: Tables, time_of: Callable[[int], int]) -> dict[str, Columns]:
    """The tables with their times on another clock."""
    return {
        name: {**columns, **{time: list(map(time_of, columns[time])) for time in _TIMES.get(name, ())}}
        for name, columns in tables.items()
    }


def engine_samples(result: EngineResult, t_ns: int) -> Iterator[Sample]:
    """Samples of the engine's facts, and of its sessions' inspections, summed over clients."""
    facts = result.facts
    for metric in ("threads", "connections_made", "reconnections", "numbered", "connect_ns_mean"):
        if (value := getattr(facts, metric)) is not None:
            yield t_ns, "engine", "engine", metric, float(value)
    for point, waiting in enumerate(facts.backlog or ()):
        yield t_ns, "engine", f"point{point}", "backlog", float(waiting)
    sums = asked(
        "select name, metric, sum(value) from inspect group by all order by min(rowid)", result.tables
    )
    for name, metric, value in each(sums):
        yield t_ns, "inspect", name, metric, value


def backlog_notices(result: EngineResult) -> Iterator[Notice]:
    """Notices about arrivals of an open loop without a client: their latency is a lower bound.

    A few that wait when the time is over are chance.
    """
    for point, waiting in enumerate(result.facts.backlog or ()):
        ((clients, done),) = each(asked(_CLIENTS, result.tables, point))
        if waiting > _BACKLOG_SHARE * done:
            arrivals = "arrival" if waiting == 1 else "arrivals"
            yield (
                "backlog",
                f"at {clients} clients {waiting:,} {arrivals} still waited for a client at"
                " the end: the rate exceeds the server's capacity, and latencies are lower bounds,"
                " because they count these arrivals with their waiting time until the end",
            )


def error_notices(tables: Tables, meanings: Mapping[str, str]) -> Iterator[Notice]:
    """One notice per kind of server error, with its meaning; meanings: by the beginning of the message."""
    messages = tables["errors"]["message"] if "errors" in tables else ()
    for number, meaning in meanings.items():
        if any(str(message).startswith(number) for message in messages):
            yield "server-error", f"error {number.strip('()')}: {meaning}"


def why_nothing(tables: Tables) -> str:
    """The cause of a run without transactions: its most frequent error, and what its sessions waited for."""
    waits = "".join(asked(_WAITS, tables)["waits"])
    most = each(asked("select count, code, message from errors order by all desc limit 1", tables))
    for count, code, message in most:
        return f"no transaction succeeded; {count} failed with {code}: {message}{waits and '; ' + waits}"
    why = waits or "raise plan.measure_s or workload.deadline_ms"
    return f"no transaction ended in the measure phase: {why}"


def outcome(workload: Workload, result: EngineResult, tables: Tables) -> tuple[float, str]:
    """Work per second of a run, and the reason why it is no result; '' where it is one.

    Of programs: of the best load point, in all, or the mean where the lower score wins.
    """
    done = _DONE if "scores" not in tables else _LOWEST if workload.lower_is_better else _HIGHEST
    if not (tps := asked(done, tables)["done"][0] or 0.0):
        return tps, why_nothing(tables)
    return tps, "".join(asked(_NEVER, result.tables)["why"]) if workload.steady else ""
