"""sar's binary files as JSON: `sadf -j`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, cast

from steelyard.recordings.mean import Mean
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source
from steelyard.study.errors import InputError

TITLE = "sadf -j (sar's binary files as JSON)"

_NAMES = ("cpu", "iface", "disk-device", "intr", "number", "filesystem", "fchost")
Json = dict[str, Any]


def sniff(head: str) -> bool:
    """Whether it is an object of sysstat."""
    return head.lstrip()[:1] == "{" and '"sysstat"' in head[:200]


def read(source: Source) -> list[Report]:
    """One report per host."""
    try:
        whole = json.loads(source.text())
        hosts = cast(list[Json], whole["sysstat"]["hosts"])
        return [_host(source, host) for host in hosts]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{source.path}: not whole JSON of sadf: {error!r:.80}") from None


def _host(source: Source, host: Json) -> Report:
    report = Report("system/sadf", source.place(source.first), server=str(host.get("nodename", "")))
    report.facts |= {"host": report.server, "CPUs": str(host.get("number-of-cpus", ""))}
    busy = Mean()
    last: datetime | None = None
    for one in cast(list[Json], host["statistics"]):
        at = _moment(one["timestamp"])
        report.began = report.began or at
        last = at
        at_s = (at - report.began).total_seconds()
        for entity, metric, value in _numbers({k: v for k, v in one.items() if k != "timestamp"}, "host", ""):
            report.sample(at_s, entity, metric, value)
        for cpu in one.get("cpu-load", []):
            if cpu.get("cpu") == "all" and "idle" in cpu:
                busy.add(100 - cpu["idle"] - cpu.get("iowait", 0) - cpu.get("steal", 0))
    report.figure("cpu_busy_sar", busy.value, "%")
    if report.began and last and last > report.began:
        report.seconds = (last - report.began).total_seconds()
    if host["statistics"]:
        report.begin_earlier(float(host["statistics"][0]["timestamp"].get("interval", 0)))
    return report


def _moment(stamp: Json) -> datetime:
    found = datetime.fromisoformat(f"{stamp['date']}T{stamp['time']}")
    return found.replace(tzinfo=UTC) if stamp.get("utc") == 1 else found


def _numbers(value: Any, entity: str, name: str) -> Iterator[tuple[str, str, float]]:
    """Every number, with its path."""
    if isinstance(value, dict):
        table = cast(Json, value)
        key = next((n for n in _NAMES if n in table), None)
        entity = f"{key} {table[key]}" if key else entity
        for inner, part in table.items():
            if inner != key:
                yield from _numbers(part, entity, f"{name}_{inner}".strip("_").replace("-", "_"))
    elif isinstance(value, list):
        for part in cast(list[Any], value):
            yield from _numbers(part, entity, name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield entity, name, float(value)
