"""pgbench -l --aggregate-interval: a line per interval, reduced as it is read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

from steelyard.recordings.cells import LARGEST
from steelyard.recordings.report import Report, Work
from steelyard.recordings.source import Source

INTERVAL = re.compile(r"\d{10}(?: \d+){5,14}")
# of an interval: without a rate limit, with one, with a latency limit too, and from version 15 on
_WIDTHS = (6, 10, 11, 15)
# sums of squares, which are not used, may be larger than a float represents
_SQUARES = (3, 7)
_SECONDS_MAX = 1_000_000


@dataclass
class _Sums:
    """What was counted so far. step_s: the shortest distance of two intervals, 0: one alone."""

    start_s: int
    last_s: int
    width: int
    step_s: int = 0
    done: int = 0
    failed: int = 0
    skipped: int = 0
    latency_us: int = 0
    by_second: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])

    def add(self, cells: list[int]) -> None:
        """Adds one interval. Later ones are later, or from another thread."""
        distance = cells[0] - self.last_s
        if distance > 0:
            self.step_s = min(self.step_s or distance, distance)
            self.last_s = cells[0]
        failed = sum(cells[13:15])
        self.done, self.failed = self.done + cells[1], self.failed + failed
        self.latency_us += cells[2]
        self.skipped += sum(cells[10:11])
        if len(self.by_second) <= _SECONDS_MAX:
            self.by_second.append((cells[0] - self.start_s, cells[1], failed))


def read_intervals(source: Source, report: Report) -> None:
    """Fills a report: readings, work, mean latency. The length of an interval is the distance of two."""
    sums: _Sums | None = None
    for line, text in source.lines():
        cells = list(map(int, text.split())) if INTERVAL.fullmatch(text.strip()) else []
        if not _whole(cells, sums):
            source.skip(line, text)
            continue
        sums = sums or _Sums(cells[0], cells[0], len(cells))
        sums.add(cells)
        _readings(report, float(cells[0] - sums.start_s), cells)
    if sums is not None:
        _close(report, sums)


def _whole(cells: list[int], sums: _Sums | None) -> bool:
    if len(cells) not in _WIDTHS or (sums is not None and len(cells) != sums.width):
        return False
    return max(cell for i, cell in enumerate(cells) if i not in _SQUARES) <= LARGEST


def _close(report: Report, sums: _Sums) -> None:
    report.began = datetime.fromtimestamp(sums.start_s, UTC)
    if sums.step_s:
        report.seconds = float(sums.last_s + sums.step_s - sums.start_s)
        kept = sums.step_s == 1 and len(sums.by_second) <= _SECONDS_MAX
        report.work = Work(sums.done, sums.failed, tuple(sums.by_second) if kept else (), detail=2)
        if len(sums.by_second) > _SECONDS_MAX:
            text = f"more than {_SECONDS_MAX:,} intervals: counts are of the whole run, not of its seconds"
            report.notices.append(("seconds-not-kept", text))
    else:
        report.notices.append(("interval-unknown", "one interval alone: its length is not in the file"))
    if sums.done:
        report.figure("latency_mean", sums.latency_us / sums.done / 1e3, "ms", "lower")
    if sums.skipped:
        text = f"{sums.skipped:,} transactions were skipped, and are not counted"
        report.notices.append(("skipped", text))


def _readings(report: Report, at_s: float, cells: list[int]) -> None:
    """Readings of one interval: counts, latency, and lag where there was one."""
    values = {"transactions": float(cells[1])}
    for name, i in (("skipped", 10), ("retried", 11), ("retries", 12)):
        if len(cells) > i:
            values[name] = float(cells[i])
    for name, i in (("latency", 2), ("lag", 6)):
        if cells[1] and len(cells) > i + 3 and (name == "latency" or any(cells[6:10])):
            values[f"{name}_mean_us"] = cells[i] / cells[1]
            values[f"{name}_min_us"] = float(cells[i + 2])
            values[f"{name}_max_us"] = float(cells[i + 3])
    report.samples.add_row(at_s, "pgbench", list(values), list(values.values()))
