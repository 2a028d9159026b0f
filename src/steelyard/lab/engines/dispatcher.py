"""The engine of simulated machines: one simulation per load point, in sequence in simulated time.

The seed of a run is that of its block: within a block every option has the same bursts and sleeps, and
blocks differ as runs of a real machine do.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from steelyard import _core
from steelyard.lab.engines.result import EngineResult, Facts
from steelyard.run_tables.rows import Columns, Rows, decoded, each

Say = Callable[[str], None]
_Columns = dict[str, list[Any]]

_SAMPLES = 30  # of a measure phase, at most one per simulated second
_TRACE_ROWS_MAX = 4000
_TRACED_THREADS_MAX = 4  # of the scaled group, unless the study names threads
_TABLES = ("phases", "throughput", "latency", "clients", "samples")


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
    counters: dict[tuple[str, ...], float] = {}
    origin_ns, events = 0, 0
    for point, count in enumerate(points):
        plan["groups"] = [{**g, "count": count} if g["name"] == scaled else g for g in plan["groups"]]
        traced = point == len(points) - 1 and block == 1
        plan["trace"] = _trace_plan(plan, window, scaled) if traced else None
        result = json.loads(_core.dispatch_run(json.dumps(plan), _placed(say, point, count, origin_ns)))
        _keep_scaled(result, scaled, plan["groups"])
        _place(result, point, count, origin_ns)
        _continue_counters(result["samples"], counters)
        if traced:
            trace["trace"] = _trace(result["trace"], point, origin_ns)
        for name in _TABLES:
            rows[name].extend(decoded(name, result[name]))
        origin_ns = result["phases"]["end_ns"][-1]
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


def _trace_plan(plan: Mapping[str, Any], window: Mapping[str, Any], scaled: str) -> dict[str, Any]:
    from_s = plan["warm_up_s"]
    to_s = min(from_s + window["window_s"], from_s + plan["measure_s"])
    threads = window["threads"] or [
        f"{group['name']}:{number}"
        for group in plan["groups"]
        for number in range(min(group["count"], _TRACED_THREADS_MAX if group["name"] == scaled else 1))
    ]
    return {"threads": threads, "from_s": from_s, "to_s": to_s, "limit": _TRACE_ROWS_MAX}


def _keep_scaled(result: dict[str, Any], scaled: str, groups: Sequence[Mapping[str, Any]]) -> None:
    """Makes the bursts of the scaled group the transactions, and its threads the clients."""
    for name in ("throughput", "latency"):
        rows = result[name]
        rows["statement"] = [
            {"transaction": None, scaled: "transaction"}.get(statement, statement)
            for statement in rows["statement"]
        ]
        _keep(rows, [statement is not None for statement in rows["statement"]])
    place = next(i for i, group in enumerate(groups) if group["name"] == scaled)
    before = sum(int(group["count"]) for group in groups[:place])
    numbers = range(before, before + int(groups[place]["count"]))
    _keep(result["clients"], [number in numbers for number in result["clients"]["client"]])
    result["clients"]["client"] = [number - before for number in result["clients"]["client"]]


def _keep(rows: _Columns, kept: Sequence[bool]) -> None:
    for name, values in rows.items():
        rows[name] = [value for value, stays in zip(values, kept, strict=True) if stays]


def _place(result: Mapping[str, Any], point: int, count: int, origin_ns: int) -> None:
    """Gives every row its load point, and times that continue those of the previous load points."""
    for name in _TABLES:
        rows: _Columns = result[name]
        if "point" in rows:
            rows["point"] = [point for _ in rows["point"]]
        for column in rows:
            if column.endswith("_ns") and name in ("phases", "samples"):
                rows[column] = [t_ns + origin_ns for t_ns in rows[column]]
    result["phases"]["clients"] = [count for _ in result["phases"]["clients"]]
    result["samples"]["monitor"] = ["engine" for _ in result["samples"]["t_ns"]]


def _continue_counters(samples: _Columns, counters: dict[tuple[str, ...], float]) -> None:
    """Continues counters from the end of the previous load point, as on one machine."""
    before = dict(counters)
    for row, key in enumerate([*each(samples, "entity", "metric")]):
        if key[1].endswith("_total"):
            samples["value"][row] += before.get(key, 0.0)
            counters[key] = samples["value"][row]


def _trace(parts: Mapping[str, _Columns], point: int, origin_ns: int) -> Columns:
    """Stints on a CPU and changes of priority as rows of one table."""
    rows = Rows("trace")
    for thread, cpu, start_ns, end_ns, priority in each(
        parts["intervals"], "thread", "cpu", "start_ns", "end_ns", "priority"
    ):
        rows.add(
            point=point,
            thread=thread,
            reason="ran",
            cpu=cpu,
            start_ns=start_ns + origin_ns,
            end_ns=end_ns + origin_ns,
            priority=priority,
        )
    for thread, reason, t_ns, priority in each(parts["priorities"], "thread", "reason", "t_ns", "priority"):
        at_ns = t_ns + origin_ns
        rows.add(point=point, thread=thread, reason=reason, start_ns=at_ns, end_ns=at_ns, priority=priority)
    return rows.columns()
