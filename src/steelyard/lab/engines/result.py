"""What an engine tells at the end of a run, as tables of the bundle, samples and notices."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Columns = Mapping[str, Sequence[Any]]
_ENCODED = "_base64"


def engine_samples(result: Mapping[str, Any], t_ns: int) -> Iterator[tuple[int, str, str, str, float]]:
    """What the engine tells of itself, and what its sessions told of themselves, summed over clients."""
    engine = result["engine"]
    for metric in ("threads", "connections_made", "reconnections", "connect_ns_mean"):
        if metric in engine:
            yield t_ns, "engine", "engine", metric, float(engine[metric])
    for point, waiting in enumerate(engine.get("backlog", ())):
        yield t_ns, "engine", f"point{point}", "backlog", float(waiting)
    told: dict[tuple[str, str], float] = {}
    inspected = result["inspect"]
    for name, metric, value in zip(inspected["name"], inspected["metric"], inspected["value"], strict=True):
        told[name, metric] = told.get((name, metric), 0.0) + value
    for (name, metric), value in told.items():
        yield t_ns, "inspect", name, metric, value


def backlog_notices(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Arrivals of an open loop that never got a client: their latency is known from below alone."""
    for point, waiting in enumerate(result["engine"].get("backlog", ())):
        if waiting:
            yield (
                "backlog",
                f"point {point}: {waiting} arrivals still waited for a client at the end:"
                " the rate is more than the server takes, and latencies are lower bounds,"
                " as they count these arrivals with what they had waited by then",
            )


def error_notices(tables: Mapping[str, Columns], meanings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What a server's error means, once each; meanings: by the beginning of its message."""
    messages = tables["errors"]["message"]
    for number, meaning in meanings.items():
        if any(str(message).startswith(number) for message in messages):
            yield "server-error", f"error {number.strip('()')}: {meaning}"


def tables_of(result: Mapping[str, Any], origin_ns: int) -> dict[str, Columns]:
    """An engine's result as tables of the bundle, its times counted from origin_ns."""
    phases = result["phases"]
    latency = dict(result["latency"])
    latency["histogram"] = [base64.b64decode(text) for text in latency.pop("histogram_base64")]
    samples = result.get("samples", {"t_ns": [], "entity": [], "metric": [], "value": []})
    return {
        "phases": {
            **phases,
            "start_ns": [t - origin_ns for t in phases["start_ns"]],
            "end_ns": [t - origin_ns for t in phases["end_ns"]],
        },
        "throughput": result["throughput"],
        "latency": latency,
        "clients": result["clients"],
        "errors": result["errors"],
        "samples": {
            **samples,
            "t_ns": [t - origin_ns for t in samples["t_ns"]],
            # a guest watches its server itself
            "monitor": samples.get("monitor", ["engine"] * len(samples["t_ns"])),
        },
        "notices": result.get("notices", {"code": [], "text": []}),
        **probed_tables(result.get("probes", {})),
        **({"scores": result["scores"]} if "scores" in result else {}),
        **({"latches": _latches(result)} if "latches" in result else {}),
        **({"trace": result["trace"]} if "trace" in result else {}),
    }


def probed_tables(told: Mapping[str, Columns]) -> dict[str, Columns]:
    """What the kernel's probes told, as tables of the bundle; those without a row left out."""
    return {name: _decoded(columns) for name, columns in told.items() if len(columns["point"])}


def _decoded(columns: Columns) -> Columns:
    return {
        name.removesuffix(_ENCODED): [base64.b64decode(text) for text in values]
        if name.endswith(_ENCODED)
        else values
        for name, values in columns.items()
    }


def _latches(result: Mapping[str, Any]) -> Columns:
    """A row a point: its latches as one family. What the protocol does not show is None, never 0."""
    rows, engine = result["latches"], result["engine"]
    unseen = {
        name
        for seen, names in (("sees_misses", ("misses", "spin_gets")), ("sees_sleeps", ("sleeps", "wait_ns")))
        if not engine[seen]
        for name in names
    }
    # without a budget it either sleeps at once, or spins until it has the latch, as all do that queue for it
    sleeps = engine["sees_sleeps"] and not engine["in_turn"]
    spin = engine["spin"] or (0 if sleeps else None)
    histograms: dict[tuple[int, str], bytes] = {
        (point, kind): base64.b64decode(text)
        for point, kind, text in zip(
            *(result["latch_histograms"][name] for name in ("point", "kind", "histogram_base64")), strict=True
        )
    }
    found: dict[str, list[Any]] = {name: [] for name in (*_FAMILY, *_SUMMED)}
    for point in dict.fromkeys(rows["point"]):
        mine = [index for index, place in enumerate(rows["point"]) if place == point]
        family = {
            "point": point,
            "latch": str(rows["latch"][mine[0]]).partition("#")[0],
            "children": len(mine),
            "spin": spin,
            "get_ns": None,
            "hold_histogram": histograms.get((point, "hold")),
            "wait_histogram": histograms.get((point, "wait")),
        }
        sums = {n: None if n in unseen else sum(rows[n][index] for index in mine) for n in _SUMMED}
        for name, value in (family | sums).items():
            found[name].append(value)
    return found


_SUMMED = ("gets", "misses", "spin_gets", "sleeps", "wait_ns", "hand_overs")
_FAMILY = ("point", "latch", "children", "spin", "get_ns", "hold_histogram", "wait_histogram")


def why_nothing(tables: Mapping[str, Columns]) -> str:
    """Why a run has no transaction: its most frequent error."""
    errors = tables["errors"]
    kinds = sorted(zip(errors["count"], errors["code"], errors["message"], strict=True), reverse=True)
    if not kinds:
        return "no transaction ended while measuring: measure for longer, or raise workload.deadline_ms"
    count, code, message = kinds[0]
    return f"no transaction succeeded; {count} failed with {code}: {message}"


def throughput_per_s(tables: Mapping[str, Columns]) -> float:
    """Transactions a second, or the highest total score of a point."""
    if "scores" in tables:
        totals: dict[int, float] = {}
        for point, score in zip(tables["scores"]["point"], tables["scores"]["score"], strict=True):
            totals[point] = totals.get(point, 0.0) + score
        return max(totals.values(), default=0.0)
    phases, rows = tables["phases"], tables["throughput"]
    seconds = sum(
        (end - start) / 1e9
        for phase, start, end in zip(phases["phase"], phases["start_ns"], phases["end_ns"], strict=True)
        if phase == "measure"
    )
    count = sum(
        count
        for statement, second, count in zip(rows["statement"], rows["second"], rows["count"], strict=True)
        if statement == "transaction" and second >= 0
    )
    return count / seconds if seconds else 0.0


def noticed(tables: Mapping[str, Columns], told: Sequence[tuple[str, str]]) -> dict[str, Columns]:
    """The tables with further notices, code and text each, before those that they have."""
    has = tables["notices"]
    notices = {
        "code": [*(code for code, _ in told), *has["code"]],
        "text": [*(text for _, text in told), *has["text"]],
    }
    return {**tables, "notices": notices}
