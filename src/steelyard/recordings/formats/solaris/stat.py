"""vmstat and mpstat of Solaris and illumos: headings repeat, and so do names within one heading.

mpstat prints `st` in place of `wt` from 11.x on. Times are not printed: readings are numbered. The first
reading counts since the boot.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from steelyard.recordings.cells import exact
from steelyard.recordings.mean import Mean
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
    now = _Readings(Report("solaris/stat", source.place(source.first)))
    columns: list[str] = []
    for line, text in source.lines():
        if _MPSTAT.match(text) or _VMSTAT.match(text):
            columns = _unique(text.partition("(")[0].split())
            now.close()
        elif text.lstrip().startswith("kthr"):
            continue
        elif text.strip() and not _row(now, columns, text):
            source.skip(line, text)
    return [now.report_of_all()]


@dataclass
class _Readings:
    """Readings as they are read. name: of the figure. number: of the reading; seen: what it is
    of; busy: of its CPUs."""

    report: Report
    name: str = ""
    number: int = 0
    seen: set[str] = field(default_factory=set[str])
    busy: Mean = field(default_factory=Mean)
    first_busy: float | None = None
    all_busy: Mean = field(default_factory=Mean)

    def begin(self, entity: str) -> None:
        """A row begins: of the same reading, or of the next one."""
        if entity in self.seen:
            self.close()
        self.seen.add(entity)

    def close(self) -> None:
        """Ends a reading. The first counts since the boot, and is kept apart."""
        if not self.seen:
            return
        if self.number == 0:
            self.first_busy = self.busy.value
        elif self.busy.value is not None:
            self.all_busy.add(self.busy.value)
        self.name = "cpu_busy_vmstat" if "host" in self.seen else "cpu_busy_mpstat"
        self.number, self.seen, self.busy = self.number + 1, set(), Mean()

    def report_of_all(self) -> Report:
        """The report, without the reading since the boot where others follow."""
        self.close()
        report = self.report
        if not self.number:
            return report
        if self.number > 1:
            report.samples = report.samples.within(0.5, math.inf)
            report.notices.append(("since-boot", "the first reading counts since the boot: left out"))
        else:
            report.notices.append(("since-boot", "the only reading counts since the boot"))
        report.notices.append(("interval-unknown", "no times are printed: the readings are numbered"))
        report.figure(self.name, self.all_busy.value if self.number > 1 else self.first_busy, "%")
        return report


def _unique(columns: list[str]) -> list[str]:
    """The second `sy` of vmstat is the CPU's; `in sy cs` are faults."""
    found: list[str] = []
    for name in columns:
        cpu = found[-1:] == ["us"] and name == "sy"
        found.append("sys" if cpu else name)
    return found


def _row(now: _Readings, columns: list[str], text: str) -> bool:
    cells = text.split()
    try:
        if not columns or len(cells) != len(columns):
            return False
        values = {name: exact(cell) for name, cell in zip(columns, cells, strict=True)}
    except ValueError:
        return False
    entity = f"cpu {cells[0]}" if columns[0] == "CPU" else "host"
    now.begin(entity)
    named = {f"{n}_percent" if n in _PERCENT else n: v for n, v in values.items() if n != "CPU"}
    now.report.samples.add_row(float(now.number), entity, list(named), list(named.values()))
    user = values.get("usr", values.get("us"))
    if user is not None and "sys" in values:
        now.busy.add(user + values["sys"])
    return True
