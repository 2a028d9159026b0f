"""sadf -j (sar's binary files as JSON)."""

import json
import re
from datetime import UTC, datetime, timedelta
from math import isfinite, nan
from typing import Any, cast

from steelyard.errors import InputError
from steelyard.recordings.cells import length_s
from steelyard.recordings.lines import has
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

_HOST = re.compile(r'"(nodename|number-of-cpus)"\s*:\s*("[^"]*"|\d+)\s*,')
_BEGINS = re.compile(r'"statistics"\s*:\s*\[')
_DECODER = json.JSONDecoder()
_OTHER = r"\A(?:# hostname;interval;timestamp;|\S+\t-?\d+\t\d|<\?xml[\s\S]{0,400}?<sysstat\b)"
_CUT_OFF = "[cut off here: the JSON document is not whole]"

# JSON, or a form that is refused by its name
sniff = has(rf'\A\s*\{{[\s\S]{{0,200}}?"sysstat"|{_OTHER}')


def read(source: Source) -> list[Report]:
    """One report per host, in constant memory; of a file that was cut off, what came before counts."""
    if re.match(_OTHER, source.head()):
        raise InputError(f"{source.path}: of sadf only JSON is read", "sadf -j FILE -- -A")
    found: list[Report] = []
    try:
        _read(source, found)
        for report in found:
            _busy(report)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{source.path}: not whole JSON of sadf: {error!r:.80}") from None
    return found


def _read(source: Source, found: list[Report]) -> None:
    """Adds the objects of each array `statistics` to the report of its host. Raises ValueError, KeyError."""
    text, inside, depth, outside, number = "", False, 0, 0, 0
    for number, line in source.lines():
        if source.skipped.cut_off_at == number:
            break
        text += line + "\n"
        depth += line.count("{") - line.count("}")
        while text := text.lstrip(" \t\n,"):
            if not inside:
                # two lines may share a beginning
                if not (begins := _BEGINS.search(text, max(0, len(text) - len(line) - 20))):
                    break
                found.append(_report(source, text[: begins.start()]))
                text, inside = text[begins.end() :], True
                outside = depth - text.count("{") + text.count("}")
            elif text.startswith("]"):
                text, inside = text[1:], False
            elif depth > outside:
                # an object is read when it is whole
                break
            else:
                one, end = _DECODER.raw_decode(text)
                text = text[end:]
                _add(source, found[-1], one)
    if depth:
        source.skipped.cut_off_at = number
        source.skip(number, _CUT_OFF)


def _report(source: Source, head: str) -> Report:
    """A report with what the document says of its host."""
    host = dict(_HOST.findall(head))
    name = host.get("nodename", "").strip('"')
    return Report(source.place(), server=name, facts={"host": name, "CPUs": host.get("number-of-cpus", "")})


def _add(source: Source, report: Report, one: dict[str, Any]) -> None:
    """Adds all numbers of one time. The first stand for the interval before it."""
    stamp = one.pop("timestamp", "")
    if "date" not in stamp:
        raise InputError(f"{source.path}: JSON of mpstat or iostat is not read", "record its text")
    at = datetime.fromisoformat(f"{stamp['date']}T{stamp['time']}")
    # from 12.7.1 on the zone has a name
    at = at.replace(tzinfo=UTC) if stamp.get("utc") == 1 or stamp.get("tz") == "UTC" else at
    interval_s = length_s(0.0, float(stamp.get("interval", 1)))
    if not interval_s:
        # the counters had been reset
        report.notice("left-out", f"sadf: the record of {at} has no interval, or an impossible one: left out")
        return
    report.began = report.began or at - timedelta(seconds=interval_s)
    _numbers(report, (report.at(at), interval_s), one, "host", "")


def _numbers(report: Report, at: tuple[float, float], of: dict[str, Any], entity: str, name: str) -> None:
    """Adds every number, with its path. at: time, and the seconds for which it stands."""
    numbers: dict[str, float] = {}
    for inner, value in of.items():
        path = f"{name}_{inner.strip('%')}{'_percent' * inner.startswith('%')}".strip("_").replace("-", "_")
        if isinstance(value, dict):
            _numbers(report, at, cast("dict[str, Any]", value), entity, path)
        elif isinstance(value, list):
            for part in cast("list[dict[str, Any]]", value):
                # a thing among others has its name first; devices of one bus have texts besides
                (first, of_it), *others = part.items()
                texts = [f" {key} {text}" for key, text in others if isinstance(text, str)]
                thing = f"{first} {of_it}{''.join(texts) * (first == 'bus_number')}"
                _numbers(report, at, dict(others), thing, path)
        elif isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            numbers[path] = float(value)
    report.samples.add_row(at[0], entity, numbers, at[1])
    if entity == "cpu all" and "cpu_load_idle" in numbers:
        idle = sum(numbers.get(f"cpu_load_{kind}", 0) for kind in ("idle", "iowait", "steal"))
        report.shares.add_row(at[0], "cpu_busy_sar", {"%": 100 - idle}, at[1])


def _busy(report: Report) -> None:
    weights = {series: table[:, 2].sum() for series, table in report.samples.tables.items()}
    for (entity, metric), of_s in weights.items():
        # with -z a record lists no idle disk or interface
        if re.match("(disk-device|iface) .*(tps|kB|pck|util)", f"{entity} {metric}"):
            report.sample(nan, entity, metric, 0.0, max(weights.values()) - of_s)
    report.mean_shares()
