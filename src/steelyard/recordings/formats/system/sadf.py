"""sar's binary files as JSON: `sadf -j`."""

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from steelyard.errors import InputError
from steelyard.recordings.lines import has
from steelyard.recordings.report import Report
from steelyard.recordings.samples import Mean
from steelyard.recordings.source import Source

TITLE = "sadf -j (sar's binary files as JSON)"

_NAMES = ("cpu", "iface", "disk-device", "intr", "number", "filesystem", "fchost")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_CLOSES = {"{": "}", "[": "]"}
Json = dict[str, Any]


sniff = has(r'\A\s*\{[\s\S]{0,200}?"sysstat"')


def read(source: Source) -> list[Report]:
    """One report per host, in constant memory; of a file that was cut off, what came before counts."""
    elements = _Elements(source, "statistics")
    reports: list[_Host] = []
    try:
        for one in elements:
            if isinstance(one.get("timestamp", ""), str):
                raise InputError(f"{source.path}: JSON of mpstat or iostat is not read", "record its text")
            number = elements.array - 1
            while number >= len(reports):
                reports.append(_Host(Report(source.place(source.first))))
            reports[number].add(one)
        hosts = cast(list[Json], elements.rest["sysstat"]["hosts"])
        found = [report.close(host) for report, host in zip(reports, hosts, strict=False)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{source.path}: not whole JSON of sadf: {error!r:.80}") from None
    if elements.cut_off_at is not None:
        source.skipped.cut_off_at = elements.cut_off_at
        source.skip(elements.cut_off_at, "[cut off here: the JSON document is not whole]")
    return found


@dataclass
class _Host:
    """Readings of one host as they are read. last: their time; interval_s: that of the first."""

    report: Report
    busy: Mean = field(default_factory=Mean)
    last: datetime | None = None
    interval_s: float = 0.0

    def add(self, one: Json) -> None:
        """Adds all numbers of one time."""
        at = _moment(one["timestamp"])
        if self.report.began is None:
            self.report.began, self.interval_s = at, float(one["timestamp"].get("interval", 0))
        self.last = at
        at_s = (at - self.report.began).total_seconds()
        for entity, metric, value in _numbers({k: v for k, v in one.items() if k != "timestamp"}, "host", ""):
            self.report.sample(at_s, entity, metric, value)
        for cpu in one.get("cpu-load", []):
            if cpu.get("cpu") == "all" and "idle" in cpu:
                self.busy.add(100 - cpu["idle"] - cpu.get("iowait", 0) - cpu.get("steal", 0))

    def close(self, host: Json) -> Report:
        """The report, with what the document says of its host."""
        report = self.report
        report.server = str(host.get("nodename", ""))
        report.facts |= {"host": report.server, "CPUs": str(host.get("number-of-cpus", ""))}
        report.figure("cpu_busy_sar", self.busy.value, "%")
        if report.began and self.last and self.last > report.began:
            report.seconds = (self.last - report.began).total_seconds()
        report.begin_earlier(self.interval_s)
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


class _Elements:
    """Iterates over the objects in all arrays with a name, one after another: the document need not fit into
    memory. Then `rest` is the document with null for each.

    array: number of the array of the last object, from 1.
    cut_off_at: number of the line at which the document ends too early; None: it is whole.
    """

    def __init__(self, source: Source, name: str) -> None:
        self.array = 0
        self.cut_off_at: int | None = None
        self.rest: Any = None
        self._source, self._name = source, f'"{name}"'

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Raises ValueError for what is no JSON."""
        open_: list[str] = []
        last, number = "", 0
        rest, element = io.StringIO(), io.StringIO()
        # depth of the array, 0: outside of it; inside an element all text belongs to it
        array = 0
        for number, text in self._source.lines():
            if self._source.skipped.cut_off_at == number:
                break
            start = 0
            for token in _TOKEN.finditer(text):
                found = token[0]
                if found in _CLOSES:
                    if array and len(open_) == array:
                        rest.write(text[start : token.start()])
                        start = token.start()
                    elif not array and found == "[" and last == self._name:
                        array = len(open_) + 1
                        self.array += 1
                    open_.append(found)
                elif found in _CLOSES.values():
                    if not open_ or _CLOSES[open_.pop()] != found:
                        raise ValueError(f"line {number}: an unexpected {found}")
                    if array and len(open_) == array:
                        element.write(text[start : token.end()])
                        start = token.end()
                        yield cast("dict[str, Any]", json.loads(element.getvalue()))
                        element = io.StringIO()
                        rest.write("null")
                    elif len(open_) < array:
                        array = 0
                else:
                    last = found
            (element if array and len(open_) > array else rest).write(text[start:] + "\n")
        text = rest.getvalue()
        if open_:
            self.cut_off_at = number
            # of an element that was cut off nothing is left
            open_ = open_[:array] if array else open_
            text = text.rstrip().rstrip(",") + "".join(_CLOSES[one] for one in reversed(open_))
        self.rest = json.loads(text)
