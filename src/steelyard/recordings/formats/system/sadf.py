"""sar's binary files as JSON: `sadf -j`."""

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
_BEGINS = re.compile(r'"statistics"\s*:\s*\[')
_DECODER = json.JSONDecoder()
Json = dict[str, Any]


_OTHER = has(r"\A(?:# hostname;interval;timestamp;|\S+\t-?\d+\t\d|<\?xml[\s\S]{0,400}?<sysstat\b)")
_JSON = has(r'\A\s*\{[\s\S]{0,200}?"sysstat"')


def sniff(head: str) -> bool:
    """Whether it is of sadf: JSON, or a form that is refused by its name."""
    return _JSON(head) or _OTHER(head)


def read(source: Source) -> list[Report]:
    """One report per host, in constant memory; of a file that was cut off, what came before counts."""
    if _OTHER(source.head()):
        raise InputError(f"{source.path}: of sadf only JSON is read", "sadf -j FILE -- -A")
    elements = _Elements(source)
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
    """Readings of one host as they are read. interval_s: before the first."""

    report: Report
    busy: Mean = field(default_factory=Mean)
    interval_s: float = 0.0

    def add(self, one: Json) -> None:
        """Adds all numbers of one time."""
        at = _moment(one["timestamp"])
        if self.report.began is None:
            self.report.began, self.interval_s = at, float(one["timestamp"].get("interval", 0))
        at_s = (at - self.report.began).total_seconds()
        self.report.seconds = max(at_s, self.report.seconds or 0.0) or None
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


@dataclass
class _Elements:
    """Iterates over the objects in all arrays `statistics`, one after another: the document need not fit into
    memory. Then `rest` is the document without them.

    array: number of the array of the last object, from 1.
    cut_off_at: number of the line at which the document ends too early; None: it is whole.
    """

    source: Source
    array: int = 0
    cut_off_at: int | None = None
    rest: Any = None

    def __iter__(self) -> Iterator[Json]:
        """Raises ValueError for what is no JSON."""
        text, rest, inside, depth, number = "", "", False, 0, 0
        for number, line in self.source.lines():
            if self.source.skipped.cut_off_at == number:
                break
            text += line + "\n"
            # of the objects that are open; inside an array an object is read when it is whole
            depth += line.count("{") - line.count("}")
            while True:
                if inside:
                    text = text.lstrip(" \t\n,")
                    if not text or depth > 0:
                        break
                    inside = not text.startswith("]")
                if inside:
                    element, end = _DECODER.raw_decode(text)
                    text = text[end:]
                    yield element
                # two lines may share a beginning
                elif begins := _BEGINS.search(text, max(0, len(text) - len(line) - 20)):
                    rest, text, inside = rest + text[: begins.end()], text[begins.end() :], True
                    depth = text.count("{") - text.count("}")
                    self.array += 1
                else:
                    break
        rest += "" if inside else text
        open_: list[str] = []
        for token in _TOKEN.findall(rest):
            if token in _CLOSES:
                open_.append(_CLOSES[token])
            elif open_[-1:] == [token]:
                open_.pop()
        if open_:
            self.cut_off_at = number
        self.rest = json.loads(rest.rstrip().rstrip(",") + "".join(reversed(open_)))
