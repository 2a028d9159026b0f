"""vmstat and mpstat of Solaris and illumos: headings repeat, and so do names within one heading.

mpstat prints `st` in place of `wt` from 11.x on. Times are not printed: readings are numbered. The first
reading counts since the boot.
"""

from __future__ import annotations

import math
import re

from steelyard.recordings.cells import exact
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "vmstat and mpstat of Solaris"

_MPSTAT = re.compile(r"^ *CPU +minf +mjf +xcal\b.*\bidl\b.*$", re.MULTILINE)
_VMSTAT = re.compile(r"^ *r +b +w +swap +free +re +mf\b.*\bid\s*$", re.MULTILINE)
_PERCENT = {"usr", "us", "sys", "wt", "st", "idl", "id"}


def sniff(head: str) -> bool:
    """Whether one of the headings is there."""
    return bool(_MPSTAT.search(head) or _VMSTAT.search(head))


def read(source: Source) -> list[Report]:
    """One report: readings by CPU, or of the host."""
    report = Report("solaris/stat", source.place(source.first))
    columns: list[str] = []
    seen: dict[str, int] = {}
    busy: dict[int, list[float]] = {}
    for line, text in source.lines():
        if _MPSTAT.match(text) or _VMSTAT.match(text):
            columns = _unique(text.partition("(")[0].split())
        elif text.lstrip().startswith("kthr"):
            continue
        elif text.strip():
            entity = _row(report, columns, seen, busy, text)
            if entity is None:
                source.skip(line, text)
    _close(report, seen, busy)
    return [report]


def _unique(columns: list[str]) -> list[str]:
    """The second `sy` of vmstat is the CPU's; `in sy cs` are faults."""
    found: list[str] = []
    for name in columns:
        cpu = found[-1:] == ["us"] and name == "sy"
        found.append("sys" if cpu else name)
    return found


def _row(
    report: Report, columns: list[str], seen: dict[str, int], busy: dict[int, list[float]], text: str
) -> str | None:
    cells = text.split()
    try:
        if not columns or len(cells) != len(columns):
            return None
        values = {name: exact(cell) for name, cell in zip(columns, cells, strict=True)}
    except ValueError:
        return None
    entity = f"cpu {cells[0]}" if columns[0] == "CPU" else "host"
    at = seen[entity] = seen.get(entity, -1) + 1
    for name, value in values.items():
        if name != "CPU":
            report.sample(float(at), entity, f"{name}_percent" if name in _PERCENT else name, value)
    busy.setdefault(at, []).append(values.get("usr", values.get("us", 0)) + values.get("sys", 0))
    return entity


def _close(report: Report, seen: dict[str, int], busy: dict[int, list[float]]) -> None:
    """The CPU's use, without the readings since the boot."""
    if not busy:
        return
    if len(busy) > 1:
        report.samples = report.samples.within(0.5, math.inf)
        del busy[0]
        report.notices.append(("since-boot", "the first reading counts since the boot: left out"))
    else:
        report.notices.append(("since-boot", "the only reading counts since the boot"))
    report.notices.append(("interval-unknown", "no times are printed: the readings are numbered"))
    name = "cpu_busy_vmstat" if "host" in seen else "cpu_busy_mpstat"
    means = [sum(values) / len(values) for values in busy.values()]
    report.figure(name, sum(means) / len(means), "%")
