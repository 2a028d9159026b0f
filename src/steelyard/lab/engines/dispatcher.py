"""The engine of simulated machines: one simulation per load point, in sequence in simulated time.

The seed of a run is that of its block: within a block every option has the same bursts and sleeps, and
blocks differ as runs of a real machine do.
"""

import json

from steelyard import _core
from steelyard.lab.engines.result import EngineResult, Facts, Json, Say
from steelyard.run_tables.questions import asked
from steelyard.run_tables.rows import Columns, Rows, decoded

_SAMPLES = 30  # of a measure phase, at most one per simulated second
_TRACE_ROWS_MAX = 4000
_TRACED_THREADS_MAX = 4  # of the scaled group, unless the study names threads
# what the tables of one simulation become: the bursts of the scaled group are the transactions, and its
# threads the clients; times continue those of the previous load points, and counters go on as on one machine
_TABLES = {
    "phases": """
        select place.point, count as clients, phase, start_ns + origin_ns as start_ns,
            end_ns + origin_ns as end_ns
        from phases, place
    """,
    "throughput": """
        select throughput.* replace (
            place.point as point, if(statement = scaled, 'transaction', statement) as statement
        ) from throughput, place where statement <> 'transaction'
    """,
    "latency": """
        select latency.* replace (
            place.point as point, if(statement = scaled, 'transaction', statement) as statement
        ) from latency, place where statement <> 'transaction'
    """,
    "clients": """
        select clients.* replace (place.point as point, client - before as client)
        from clients, place where client >= before and client < before + count
    """,
    "samples": """
        select t_ns + origin_ns as t_ns, 'engine' as monitor, entity, metric,
            value + if(ends_with(metric, '_total'), coalesce(reached, 0), 0) as value
        from samples left join (
            select entity::varchar as entity, metric::varchar as metric, arg_max(value, t_ns) as reached
            from earlier group by all
        ) using (entity, metric), place order by samples.rowid
    """,
}
_TRACE = """
select point, thread, 'ran' as reason, cpu::integer as cpu, (start_ns + origin_ns)::bigint as start_ns,
    (end_ns + origin_ns)::bigint as end_ns, priority::integer as priority
from intervals, place
union all
select point, thread, reason, null, (t_ns + origin_ns)::bigint, (t_ns + origin_ns)::bigint, priority::integer
from priorities, place
"""


def run(plan_json: str, say: Say) -> str:
    """Runs the load points of a plan; the result as JSON.

    plan: as `_core.dispatch_run` takes it, with `points` (numbers of threads of the group `scaled`),
    and `block`; trace: threads (none: the first ones)
    and window_s, from the start of measure; only the last load point of block 1 is traced. Transactions are
    the bursts of the group `scaled`; `clients` are its threads. Raises PlanError.
    """
    plan = json.loads(plan_json)
    points: list[int] = plan.pop("points")
    block: int = plan.pop("block")
    plan.pop("cool_down_s")
    scaled: str = plan.pop("scaled")
    window = plan.pop("trace")
    plan["sample_s"] = max(1.0, plan["measure_s"] / _SAMPLES)
    rows = {name: Rows(name) for name in _TABLES}
    trace: dict[str, Columns] = {}
    origin_ns, events = 0, 0
    for point, count in enumerate(points):
        plan["groups"] = [{**g, "count": count} if g["name"] == scaled else g for g in plan["groups"]]
        traced = point == len(points) - 1 and block == 1
        plan["trace"] = _trace_plan(plan, window, scaled) if traced else None
        result = json.loads(_core.dispatch_run(json.dumps(plan), _placed(say, point, count, origin_ns)))
        names = [group["name"] for group in plan["groups"]]
        before = sum(group["count"] for group in plan["groups"][: names.index(scaled)])
        place = {"point": point, "count": count, "origin_ns": origin_ns, "scaled": scaled, "before": before}
        found = {
            "place": {name: [value] for name, value in place.items()},
            "earlier": rows["samples"].columns(),
            **{name: decoded(name, result[name]) for name in _TABLES},
        }
        if traced:
            trace["trace"] = asked(_TRACE, {**found, **result["trace"]})
        for name, sql in _TABLES.items():
            rows[name].extend(asked(sql, found))
        origin_ns += result["phases"]["end_ns"][-1]
        events += result["engine"]["events"]
    tables = {name: of_table.columns() for name, of_table in rows.items()}
    return EngineResult("dispatch", {**tables, **trace}, Facts(events=events)).to_json()


def _placed(say: Say, point: int, count: int, origin_ns: int) -> Say:
    """A listener that passes the events of a simulation on as those of a load point."""

    def pass_on(line: str) -> None:
        event = json.loads(line)
        event |= {"point": point, "t_ns": event["t_ns"] + origin_ns}
        say(json.dumps(event | ({"clients": count} if "clients" in event else {})))

    return pass_on


def _trace_plan(plan: Json, window: Json, scaled: str) -> Json:
    from_s = plan["warm_up_s"]
    to_s = min(from_s + window["window_s"], from_s + plan["measure_s"])
    threads = window["threads"] or [
        f"{group['name']}:{number}"
        for group in plan["groups"]
        for number in range(min(group["count"], _TRACED_THREADS_MAX if group["name"] == scaled else 1))
    ]
    return {"threads": threads, "from_s": from_s, "to_s": to_s, "limit": _TRACE_ROWS_MAX}
