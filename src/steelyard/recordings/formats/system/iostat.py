"""iostat of sysstat on Linux. Its first report counts since the boot: it is left out where others follow."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from steelyard.recordings.cells import number
from steelyard.recordings.formats.system._sysstat import STAMP, busy_percent, day_of, mean, metric
from steelyard.recordings.report import Report, Sample
from steelyard.recordings.source import BANNER, Source

TITLE = "iostat (Linux)"

_DAY_S = 86_400.0
_HEADING = re.compile(r"^(?:avg-cpu:\s+%user|Device:?\s+\S*(?:tps|/s))", re.MULTILINE)


def sniff(head: str) -> bool:
    """Whether the CPU's or a device's heading is there."""
    return bool(_HEADING.search(head)) and bool(BANNER.search(head) or "avg-cpu:" in head)


def read(source: Source) -> list[Report]:
    """One report; readings without a time are numbered."""
    report = Report("system/iostat", source.place(source.first))
    groups: list[list[Sample]] = [[]]
    times: list[float | None] = [None]
    columns: list[str] = []
    comma = source.decimal_comma
    for line, text in source.lines():
        if BANNER.match(text):
            continue
        if found := STAMP.fullmatch(text):
            if groups[-1]:
                groups.append([])
                times.append(None)
            times[-1] = _second(found)
        elif text.startswith(("avg-cpu:", "Device")):
            if text.startswith("avg-cpu:") and groups[-1]:
                groups.append([])
                times.append(None)
            columns = text.split()
        elif text.strip():
            cells = text.split()
            name = "cpu all" if columns[:1] == ["avg-cpu:"] else f"device {cells[0]}"
            numbers = cells if name == "cpu all" else cells[1:]
            try:
                if not columns or len(numbers) != len(columns) - 1:
                    raise ValueError
                values = [number(cell, comma) for cell in numbers]
            except ValueError:
                source.skip(line, text)
                continue
            for column, value in zip(columns[1:], values, strict=True):
                if value is not None:
                    groups[-1].append(Sample(0, name, metric(column), value))
    _place(report, groups, times)
    return [report]


def _second(found: re.Match[str]) -> float:
    hour = int(found[2]) % 12 + 12 if found[5] == "PM" else int(found[2]) % (12 if found[5] else 24)
    day = day_of(found[1])
    return (day.toordinal() * _DAY_S if day else 0.0) + 3600.0 * hour + 60.0 * int(found[3]) + int(found[4])


def _place(report: Report, groups: list[list[Sample]], times: list[float | None]) -> None:
    """Samples at their times, without those since the boot."""
    since_boot = times[0] if len(groups) > 1 else None
    if len(groups) > 1:
        groups, times = groups[1:], times[1:]
        text = "the first report of iostat counts since the boot: left out"
    else:
        text = "the only report of iostat counts since the boot"
    report.notices.append(("since-boot", text))
    first = times[0] if times else None
    if first is not None and first > _DAY_S:
        report.began = datetime.fromordinal(int(first // _DAY_S)) + timedelta(seconds=first % _DAY_S)
    known = [at for at in times if at is not None]
    if len(known) != len(times):
        report.notices.append(("interval-unknown", "iostat tells no times: its readings are numbered"))
    busy: list[float] = []
    for i, group in enumerate(groups):
        at = times[i]
        at_s = at - first if at is not None and first is not None else float(i)
        report.samples += [Sample(at_s, s.entity, s.metric, s.value) for s in group]
        cpu = {s.metric: s.value for s in group if s.entity == "cpu all"}
        if (percent := busy_percent(cpu)) is not None:
            busy.append(percent)
    if len(groups) > 1 and len(known) == len(times):
        report.seconds = known[-1] - known[0] or None
    if since_boot is not None and first is not None:
        report.begin_earlier(first - since_boot)
    report.figure("cpu_busy_iostat", mean(busy), "%")
