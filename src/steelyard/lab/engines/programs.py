"""The engine of programs: starts the copies of each point, waits, and reads what each one scored.

It runs in a child process of the lab, so that the copies are the descendants that monitors watch.
A copy that fails, hangs, or says nothing that could be its score ends the run, with its last words.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from steelyard.lab.engines.instances import Copies, Copy
from steelyard.lab.engines.registry import LoadFailed

_MOST_BYTES = 4_000_000  # of an output: what is before that is not searched
_TAIL_CHARACTERS = 16_000

Say = Callable[[str], None]


def run(plan_json: str, say: Say) -> str:
    """Runs the points of a plan; returns the result as JSON. Raises LoadFailed.

    plan: copies (for each point a list of command, environment, folder, cpus), outputs (a folder),
    score and time (pattern or json_path), exit_code, deadline_s, cool_down_s. The result has columns
    like every engine's: phases, and scores (point, instance, score, seconds, exit_code, cpu_ns).
    """
    plan = json.loads(plan_json)
    phases: list[dict[str, Any]] = []
    scores: list[dict[str, Any]] = []
    for point in range(len(plan["copies"])):
        _point(plan, point, phases, scores, say)
    start_ns = time.monotonic_ns()
    _phase(say, "cool-down", len(plan["copies"]) - 1, len(plan["copies"][-1]), start_ns)
    time.sleep(plan["cool_down_s"])
    last = len(plan["copies"]) - 1
    phases.append(_row(last, len(plan["copies"][-1]), "cool-down", start_ns, time.monotonic_ns()))
    return json.dumps(
        {
            "phases": _columns(phases, ("point", "clients", "phase", "start_ns", "end_ns")),
            "scores": _columns(scores, ("point", "instance", "score", "seconds", "exit_code", "cpu_ns")),
            "throughput": _columns([], ("point", "second", "statement", "count", "errors")),
            "latency": _columns([], ("point", "statement", "count", "histogram_base64")),
            "clients": _columns([], ("point", "client", "transactions", "errors", "mean_ns", "p99_ns")),
            "errors": _columns([], ("point", "code", "count", "message")),
            "inspect": _columns([], ("name", "metric", "value")),
            "engine": {},
        }
    )


def _point(
    plan: Mapping[str, Any],
    point: int,
    phases: list[dict[str, Any]],
    scores: list[dict[str, Any]],
    say: Say,
) -> None:
    outputs = Path(plan["outputs"])
    copies = [
        Copy(
            **copy,
            output=outputs / f"point{point}-copy{number}.out",
            error=outputs / f"point{point}-copy{number}.err",
        )
        for number, copy in enumerate(plan["copies"][point])
    ]
    # told before the copies begin: the reading that it causes must not lie in their time
    _phase(say, "measure", point, len(copies), time.monotonic_ns())
    try:
        under_way = Copies(copies)
    except OSError as error:
        raise LoadFailed(str(error.args[-1]).strip()) from None
    deadline_ns = under_way.start_ns + round(plan["deadline_s"] * 1e9)
    end_ns = under_way.start_ns
    try:
        while under_way.running:
            ended = under_way.next_end(deadline_ns)
            if ended is None:
                late = under_way.running[0]
                raise _failed(copies, late, f"still ran after {plan['deadline_s']:g} s and was killed")
            if ended.exit_code != plan["exit_code"]:
                how = f"exit code {ended.exit_code}" if ended.exit_code >= 0 else f"signal {-ended.exit_code}"
                raise _failed(copies, ended.copy, f"ended with {how}")
            end_ns = ended.end_ns
            own_s = (ended.end_ns - under_way.start_ns) / 1e9
            scores.append(
                {
                    "point": point,
                    "instance": ended.copy,
                    "score": _number(plan["score"], copies, ended.copy, "score"),
                    "seconds": _number(plan["time"], copies, ended.copy, "time") if plan["time"] else own_s,
                    "exit_code": ended.exit_code,
                    "cpu_ns": ended.cpu_ns,
                }
            )
    finally:
        under_way.kill()
    phases.append(_row(point, len(copies), "measure", under_way.start_ns, end_ns))


def _number(reading: Mapping[str, Any], copies: list[Copy], number: int, what: str) -> float:
    """A positive number, as the study says where it stands."""
    copy = copies[number]
    output, error = _text(copy.output), _text(copy.error)
    if not (output + error).strip():
        raise _failed(copies, number, f"printed nothing, so it has no {what}")
    if reading["pattern"] is not None:
        where = f"pattern {reading['pattern']}"
        found = re.findall(reading["pattern"], output) or re.findall(reading["pattern"], error)
        value = found[-1] if found else None
    else:
        where = f"JSON path {reading['json_path']}"
        value = _at(output, reading["json_path"])
    if value is None:
        raise _failed(copies, number, f"printed no {what} ({where})")
    try:
        score = float(value)
    except (TypeError, ValueError):
        score = float("nan")
    if not 0 < score < float("inf"):
        raise _failed(copies, number, f"printed {str(value)[:60]!r} as its {what}: not a positive number")
    return score


def _at(text: str, path: str) -> Any:
    """What stands at a path of the JSON that is the whole text, or its last line that is an object."""
    value: Any = None
    for part in (text, *reversed(text.splitlines())):
        try:
            value = json.loads(part)
        except ValueError:
            continue
        if isinstance(value, dict | list):
            break
    for key in path.split("."):
        try:
            value = cast(Any, value)[int(key) if isinstance(value, list) else key]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return None if isinstance(value, bool) else cast(Any, value)


def _failed(copies: list[Copy], number: int, what: str) -> LoadFailed:
    """The copy, what was wrong, and the end of what it said: its errors rather than its output."""
    said = _text(copies[number].error).strip() or _text(copies[number].output).strip()
    # more of it than is kept: the lab takes secrets out before it cuts
    last = "; its last words:\n" + said[-_TAIL_CHARACTERS:] if said else ", without a word"
    return LoadFailed(f"copy {number + 1} of {len(copies)} {what}{last}")


def _text(place: Path) -> str:
    with place.open("rb") as file:
        file.seek(max(0, place.stat().st_size - _MOST_BYTES))
        return file.read().decode(errors="replace")


def _phase(say: Say, phase: str, point: int, clients: int, t_ns: int) -> None:
    say(json.dumps({"event": "phase", "phase": phase, "point": point, "clients": clients, "t_ns": t_ns}))


def _row(point: int, clients: int, phase: str, start_ns: int, end_ns: int) -> dict[str, Any]:
    return {"point": point, "clients": clients, "phase": phase, "start_ns": start_ns, "end_ns": end_ns}


def _columns(rows: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in names}
