"""iostat of sysstat on Linux. Its first report counts since the boot: it is left out where others follow."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from steelyard.recordings.cells import number
from steelyard.recordings.formats.system._sysstat import STAMP, busy_percent, day_of, metric
from steelyard.recordings.mean import Mean
from steelyard.recordings.report import Report
from steelyard.recordings.source import BANNER, Source

TITLE = "iostat (Linux)"

_DAY_S = 86_400.0
_HEADING = re.compile(r"^(?:avg-cpu:\s+%user|Device:?\s+\S*(?:tps|/s))", re.MULTILINE)


def sniff(head: str) -> bool:
    """Whether the CPU's or a device's heading is there."""
    return bool(_HEADING.search(head)) and bool(BANNER.search(head) or "avg-cpu:" in head)


def read(source: Source) -> list[Report]:
    """One report; readings without a time are numbered."""
    found = _Readings(Report("system/iostat", source.place(source.first)))
    columns: list[str] = []
    comma = source.decimal_comma
    for line, text in source.lines():
        if BANNER.match(text):
            continue
        if stamp := STAMP.fullmatch(text):
            found.close()
            found.at = _second(stamp)
        elif text.startswith(("avg-cpu:", "Device")):
            if text.startswith("avg-cpu:"):
                found.close()
            columns = text.split()
        elif text.strip():
            cells = text.split()
            name = "cpu all" if columns[:1] == ["avg-cpu:"] else f"device {cells[0]}"
            numbers = cells if name == "cpu all" else cells[1:]
            try:
                named = name == "cpu all" or not cells[0].replace(",", ".").replace(".", "").isdigit()
                if not columns or len(numbers) != len(columns) - 1 or not named:
                    raise ValueError
                values = [number(cell, comma) for cell in numbers]
            except ValueError:
                source.skip(line, text)
                continue
            pairs = zip(columns[1:], values, strict=True)
            found.group.append((name, {metric(column): v for column, v in pairs if v is not None}))
    return [found.report_of_all()]


def _second(found: re.Match[str]) -> float:
    hour = int(found[2]) % 12 + 12 if found[5] == "PM" else int(found[2]) % (12 if found[5] else 24)
    day = day_of(found[1])
    return (day.toordinal() * _DAY_S if day else 0.0) + 3600.0 * hour + 60.0 * int(found[3]) + int(found[4])


_Group = list[tuple[str, dict[str, float]]]


@dataclass
class _Readings:
    """Readings as they are read. group, at: what stands between two times, or between two `avg-cpu`."""

    report: Report
    group: _Group = field(default_factory=_Group)
    at: float | None = None
    since_boot: tuple[_Group, float | None] | None = None
    begin: float | None = None
    timed: bool = True
    count: int = 0
    busy: Mean = field(default_factory=Mean)

    def close(self) -> None:
        """Ends the group: the first counts since the boot, and is kept apart."""
        if not self.group:
            return
        if self.since_boot is None:
            self.since_boot = (self.group, self.at)
        else:
            self._keep(self.group, self.at)
        self.group, self.at = [], None

    def _keep(self, group: _Group, at: float | None) -> None:
        if self.count == 0:
            self.begin, self.timed = at, at is not None
        at_s = at - self.begin if at is not None and self.begin is not None else float(self.count)
        self.timed = self.timed and at is not None
        self.count += 1
        for entity, values in group:
            self.report.samples.add_row(at_s, entity, list(values), list(values.values()))
            if entity == "cpu all" and (percent := busy_percent(values)) is not None:
                self.busy.add(percent)
        if self.timed and at_s > 0:
            self.report.seconds = at_s

    def report_of_all(self) -> Report:
        """The report, without what counts since the boot where others follow."""
        self.close()
        report, only = self.report, self.count == 0
        if self.since_boot and only:
            self._keep(*self.since_boot)
        text = "the only report of iostat counts since the boot"
        text = text if only else "the first report of iostat counts since the boot: left out"
        report.notices.append(("since-boot", text))
        if self.begin is not None and self.begin > _DAY_S:
            days, second = divmod(self.begin, _DAY_S)
            report.began = datetime.fromordinal(int(days)) + timedelta(seconds=second)
        if not self.timed:
            report.seconds = None
            report.notices.append(("interval-unknown", "iostat tells no times: its readings are numbered"))
        before = self.since_boot[1] if self.since_boot and not only else None
        if before is not None and self.begin is not None:
            report.begin_earlier(self.begin - before)
        report.figure("cpu_busy_iostat", self.busy.value, "%")
        return report
