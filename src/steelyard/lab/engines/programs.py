"""The engine of programs: starts the instances of each load point, waits, and reads the score of each.

It runs in a child process of the lab, so that the monitors find the instances among its descendants.
An instance that fails, hangs, or prints no score fails the run, with the end of its output.
"""

import json
import os
import re
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from steelyard.host.processes.signals import adopt_orphans, end_with
from steelyard.lab.engines.instances import Instance, Instances, end_descendants
from steelyard.lab.engines.result import EngineResult, Json, LoadFailed, Say
from steelyard.quantities import time_unit_ns
from steelyard.run_tables.rows import Rows

_OUTPUT_BYTES_MAX = 4_000_000  # the end of an output that is searched
_TAIL_CHARACTERS = 16_000
# thousands separators and decimal signs within a number; an exponent; the word after it
_NUMBER = re.compile(
    r"((?:(?<![\w.])[-+])?\.?\d+(?:[.,'_\u00a0\u202f]\d+)*(?:[eE][-+]?\d+)?)([ \u00a0]?[^\W\d_]*)"
)
_THOUSANDS = r"\d{1,3}(?:[,'\u00a0\u202f]\d{3})+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_SCALED = r"[kKMGTP](?:i?[bB]|\w+[pP][sS])?"
# a pattern that finds its group beside any of these demands nothing of the text there
_OTHERS = ("z", " ", "K", "M", " us", " ms", " s", "us", "ms", "s")


def run(plan_json: str, say: Say) -> str:
    """Runs the load points of a plan; returns the result as JSON. Raises LoadFailed.

    plan: instances (for each load point a list of command, environment, folder, cpus), outputs (a folder),
    score and time (pattern or json_path; None: the run time), unit (of the score), scores (further ones by
    name), exit_code, deadline_s, cool_down_s.
    """
    # orphans of instances stay descendants of this process: it ends them, also after the end of the lab
    signal.signal(signal.SIGTERM, _end)
    adopt_orphans()
    end_with(os.getppid(), signal.SIGTERM)
    plan = json.loads(plan_json)
    tables = {name: Rows(name) for name in ("phases", "scores", "further_scores")}
    for point in range(len(plan["instances"])):
        _point(plan, point, tables, say)
    last, instances = len(plan["instances"]) - 1, len(plan["instances"][-1])
    start_ns = time.monotonic_ns()
    _phase(say, "cool-down", last, instances, start_ns)
    time.sleep(plan["cool_down_s"])
    end_ns = time.monotonic_ns()
    tables["phases"].add(point=last, clients=instances, phase="cool-down", start_ns=start_ns, end_ns=end_ns)
    return EngineResult("programs", {name: rows.columns() for name, rows in tables.items()}).to_json()


def _end(*_: object) -> None:
    end_descendants()
    os._exit(1)


def _point(plan: Json, point: int, tables: Mapping[str, Rows], say: Say) -> None:
    outputs = Path(plan["outputs"])
    instances = [
        Instance(
            **instance,
            output=outputs / f"point{point}-instance{number}.out",
            error=outputs / f"point{point}-instance{number}.err",
        )
        for number, instance in enumerate(plan["instances"][point])
    ]
    # reported before the instances start: the samples that it triggers must not cost them time
    _phase(say, "measure", point, len(instances), time.monotonic_ns())
    try:
        under_way = Instances(instances)
    except OSError as error:
        raise LoadFailed(str(error.args[-1]).strip()) from None
    deadline_ns = under_way.start_ns + round(plan["deadline_s"] * 1e9)
    end_ns = under_way.start_ns
    try:
        while under_way.running:
            ended = under_way.next_end(deadline_ns)
            if ended is None:
                late = under_way.running[0]
                raise _failed(instances, late, f"still ran after {plan['deadline_s']:g} s and was killed")
            if ended.exit_code != plan["exit_code"]:
                how = f"exit code {ended.exit_code}" if ended.exit_code >= 0 else f"signal {-ended.exit_code}"
                raise _failed(instances, ended.instance, f"ended with {how}")
            end_ns = ended.end_ns
            own_s = (ended.end_ns - under_way.start_ns) / 1e9
            at = {"point": point, "instance": ended.instance}
            number = partial(_number, instances, ended.instance)
            tables["scores"].add(
                **at,
                score=number(plan["score"], "score", plan["unit"], False) if plan["score"] else own_s,
                seconds=number(plan["time"], "time", "s", False) if plan["time"] else own_s,
                exit_code=ended.exit_code,
                cpu_ns=ended.cpu_ns,
            )
            for name, extractor in plan["scores"].items():
                value = number(extractor, f"score {name}", extractor["unit"], True)
                tables["further_scores"].add(**at, name=name, value=value)
    finally:
        under_way.kill()
    tables["phases"].add(
        point=point, clients=len(instances), phase="measure", start_ns=under_way.start_ns, end_ns=end_ns
    )


def _number(
    instances: list[Instance], number: int, extractor: Json, what: str, unit: str, zero: bool
) -> float:
    """The number above 0 (zero: or 0) that pattern or path finds in the output. Raises LoadFailed."""
    instance = instances[number]
    output, error = _text(instance.output), _text(instance.error)
    if not (output + error).strip():
        raise _failed(instances, number, f"printed nothing, so it has no {what}")
    part = whole = None
    if pattern := extractor["pattern"]:
        where = f"pattern {pattern}"
        text = output if re.search(pattern, output) else error
        if found := list(re.finditer(pattern, text)):
            part, whole = found[-1][1], _whole(found[-1], text, unit)
    else:
        where = f"JSON path {extractor['json_path']}"
        part = whole = _at(output, extractor["json_path"])
    if whole is None:
        raise _failed(instances, number, f"printed no {what} ({where})")
    plain = str(whole)
    # one comma alone may be a decimal one
    if re.fullmatch(_THOUSANDS, plain) and (plain.count(",") != 1 or "." in plain):
        plain = re.sub(r"[^\d.eE+-]", "", plain)
    try:
        score = float(plain)
    except ValueError:
        score = float("nan")
    if 0 < score < float("inf") or (zero and not score):
        return score
    wrong = f"not a {'number from 0 up' if zero else 'positive number'}"
    if part != whole:
        wrong = f"the pattern takes {part!r} of it: print plain digits, or let it match the unit beside them"
    raise _failed(instances, number, f"printed {plain[:60]!r} as its {what}: {wrong}")


def _whole(match: re.Match[str], text: str, unit: str) -> str:
    """The group, with the rest of its number and a unit other than the score's.

    Text beside the group that the pattern itself demands is not part of the number: `,` in a line of CSV.
    """
    start, end = match.span(1)
    numbers = _NUMBER.finditer(text, text.rfind("\n", 0, start) + 1)
    number = next((each for each in numbers if each.end() > start), match)
    if number is match or number.start() >= end:
        return match[1]
    first, printed = re.findall(r"\w*", unit)[0], number[2].strip()
    time = time_unit_ns(printed)
    other = time != time_unit_ns(first) if time else printed.lower() != first.lower()
    stop = number.end() if other and (time or re.fullmatch(_SCALED, printed)) else number.end(1)
    before, after = text[number.start() : start], text[end:stop]
    for beside in _OTHERS:
        left, right = (beside * len(before))[: len(before)], beside if after else ""
        changed = text[: start - len(before)] + left + match[1] + right + text[end + len(after) :]
        again = match.re.match(changed, match.start())
        demanded = again is None or again.span(1) != (start, end)
        if not demanded and (not after or after.strip() != right.strip()):
            return before + match[1] + after
    return match[1]


def _at(text: str, path: str) -> Any:
    """The value at a path of the last JSON text that has it, on lines of its own, or None."""
    keys = [part.strip('"') for part in re.findall(r'"[^"]+"|[^."]+', path)]
    found: Any = None
    end = 0
    for begin in re.finditer(r"(?:^|[\r\n])\s*(?=[{\[])", text):
        if begin.end() < end:
            continue
        with suppress(ValueError, RecursionError, LookupError, TypeError):
            value, end = json.JSONDecoder().raw_decode(text, begin.end())
            if re.compile(r"\s*?([\r\n]|\Z)").match(text, end):
                for key in keys:
                    value = value[int(key) if isinstance(value, list) else key]
                found = None if isinstance(value, bool) else value
    return found


def _failed(instances: list[Instance], number: int, what: str) -> LoadFailed:
    """The error: the instance, the problem, and the end of its error output (of its output, if empty)."""
    output = _text(instances[number].error).strip() or _text(instances[number].output).strip()
    # longer than the kept part: the lab removes secrets before it cuts
    tail = "; end of its output:\n" + output[-_TAIL_CHARACTERS:] if output else ", without output"
    return LoadFailed(f"instance {number + 1} of {len(instances)} {what}{tail}")


def _text(place: Path) -> str:
    with place.open("rb") as file:
        file.seek(max(0, place.stat().st_size - _OUTPUT_BYTES_MAX))
        return file.read().decode(errors="replace")


def _phase(say: Say, phase: str, point: int, clients: int, t_ns: int) -> None:
    say(json.dumps({"event": "phase", "phase": phase, "point": point, "clients": clients, "t_ns": t_ns}))
