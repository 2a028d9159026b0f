"""From files to runs: which reports are of one run, and which are its load points.

A group is a folder, or what a schedule calls a run. Driver reports with the same number of clients are runs
of their own, in order; those with other numbers are load points of one run. A monitor belongs to the only run
of its group, or to the runs that its own times overlap; nothing else is assumed.
"""

import itertools
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from pathlib import Path

from steelyard.errors import InputError
from steelyard.recordings.limits import Deadline
from steelyard.recordings.merge import merged
from steelyard.recordings.placed import Filed, PlacedRun, Point
from steelyard.recordings.registry import reports_in
from steelyard.recordings.report import Facts, Report, seconds_between
from steelyard.recordings.source import Skipped, Source

_SAY = "say which file belongs to which run in a schedule: steelyard import --example"
# pgbench writes a file per thread: pgbench_log.4711, pgbench_log.4711.1
_THREAD = re.compile(r"(.*\.\d+)\.\d+")
_SLACK_S = 1.0

Progress = Callable[[Path, float], None]
Unread = dict[str, Skipped]
# a report and the name of its file
_Named = tuple[str, Report]


def runs_of(files: Sequence[Filed], progress: Progress, deadline: Deadline) -> tuple[list[PlacedRun], Unread]:
    """The runs, with blocks by option, and the lines not understood by file.

    progress: is called with a file and the share of it that was read. Raises InputError.
    """
    unread: Unread = {}
    groups: dict[tuple[str, str], list[_Named]] = {}
    blocks: dict[tuple[str, str], int] = {}
    for one in files:
        found = _read(one, unread, progress, deadline)
        groups.setdefault((one.option, one.group), []).extend((str(one.path), report) for report in found)
        blocks.setdefault((one.option, one.group), one.block or 0)
    runs = [_of_group(key[0], blocks[key], group) for key, group in groups.items()]
    return _numbered(list(itertools.chain(*runs))), unread


def _read(one: Filed, unread: Unread, progress: Progress, deadline: Deadline) -> list[Report]:
    report_share = partial(progress, one.path)
    source = Source(one.path, choices=one.choices, progress=report_share, deadline=deadline)
    found = reports_in(source)
    if source.skipped.count:
        unread[str(one.path)] = source.skipped
    for report in found:
        report.clients = one.clients or report.clients
        report.began = _by_our_clock(report.began or one.began, one.choices)
        report.seconds = report.seconds or one.seconds
    return found


def _by_our_clock(at: datetime | None, choices: Facts) -> datetime | None:
    if at is None:
        return None
    if at.tzinfo is None and "utc_offset_minutes" in choices:
        at = at.replace(tzinfo=timezone(timedelta(minutes=float(choices["utc_offset_minutes"]))))
    at -= timedelta(seconds=float(choices.get("ahead_s", 0)))
    return at.astimezone(UTC) if at.tzinfo else at


def _of_group(option: str, block: int, group: Sequence[_Named]) -> list[PlacedRun]:
    """The runs of one folder, or of one run of a schedule; the block is that of the first."""
    reports = _threads_joined(group)
    _check_servers([report for _, report in reports])
    drivers = [report for _, report in reports if report.work and report.work.driver]
    if not drivers:
        several = _without_driver(option, reports)
        return [_monitored(option, block if i == 0 else 0, found) for i, found in enumerate(several)]
    names = dict.fromkeys(report.format for report in drivers)
    split = {name: _occurrences([r for r in drivers if r.format == name]) for name in names}
    others: list[Report] = []
    for _, report in reports:
        if report in drivers:
            continue
        if report.format not in split:
            others.append(report)
            continue
        # no monitor of the other runs: its readings are not theirs
        line = report.place.rpartition(":")[2]
        text = f"the run from line {line} on has no count of its work: left out"
        drivers[0].notices.append(("run-cut-off", text))
    if len(set(map(len, split.values()))) > 1:
        counts = ", ".join(f"{len(found)} of {name}" for name, found in split.items())
        folder = Path(group[0][0]).parent
        raise InputError(f"{folder}: {counts}: which are of one run is not clear", _SAY)
    drivers_of = {name.partition("_")[0] for name in split}
    if len(drivers_of) > 1:
        text = f"{' and '.join(sorted(drivers_of))} both counted work: which of it is the run's is not clear"
        raise InputError(f"{Path(group[0][0]).parent}: {text}", _SAY)
    several = zip(*split.values(), strict=True)
    runs = [PlacedRun(option, block if i == 0 else 0, _points(found), []) for i, found in enumerate(several)]
    _attach(runs, others)
    return runs


def _points(of_formats: Sequence[list[Report]]) -> list[Point]:
    """Load points of a run, from the reports of each format."""
    reports = list(itertools.chain(*of_formats))
    if all(len(found) == 1 for found in of_formats):
        # a summary gives the clients, a log those that were seen
        reports.sort(key=lambda report: report.work.detail if report.work else 0)
        return [(next((report.clients for report in reports if report.clients), None), reports)]
    points: dict[int | None, list[Report]] = {}
    for report in reports:
        points.setdefault(report.clients, []).append(report)
    return sorted(points.items(), key=lambda point: (point[0] is None, point[0] or 0))


def _occurrences(reports: Sequence[Report]) -> list[list[Report]]:
    """The i-th report of each number of clients is of the i-th run."""
    seen: dict[int | None, int] = {}
    found: list[list[Report]] = []
    for report in reports:
        at = seen[report.clients] = seen.get(report.clients, -1) + 1
        if at == len(found):
            found.append([])
        found[at].append(report)
    return found


def _without_driver(option: str, reports: Sequence[_Named]) -> list[list[Report]]:
    """Each format once: one run. One format alone: a run per file."""
    files: dict[str, dict[str, list[Report]]] = {}
    for file, report in reports:
        files.setdefault(report.format, {}).setdefault(file, []).append(report)
    if all(len(found) == 1 for found in files.values()):
        return [[report for _, report in reports]]
    if len(files) == 1:
        return [of_file for found in files.values() for of_file in found.values()]
    counts = ", ".join(f"{len(found)} of {name}" for name, found in files.items())
    raise InputError(f"option {option}: {counts}: which are of one run is not clear", _SAY)


def _monitored(option: str, block: int, reports: Sequence[Report]) -> PlacedRun:
    """A run that only the server or the machine counted."""
    clients = next((report.clients for report in reports if report.clients), None)
    at = [report for report in reports if report.work]
    return PlacedRun(option, block, [(clients, at)] if at else [], [r for r in reports if not r.work])


def _threads_joined(group: Sequence[_Named]) -> list[_Named]:
    """Logs of the threads of one pgbench become one report."""
    found: list[_Named] = []
    logs: dict[str, list[Report]] = {}
    for file, report in group:
        if report.format == "drivers/pgbench_log":
            thread = _THREAD.fullmatch(file)
            logs.setdefault(thread[1] if thread else file, []).append(report)
        else:
            found.append((file, report))
    return found + [(name, merged(reports, side_by_side=True)) for name, reports in logs.items()]


def _check_servers(reports: Sequence[Report]) -> None:
    """Raises InputError for two servers, and for reports that cover the same time twice."""
    servers = sorted({report.server for report in reports if report.server})
    if len(servers) > 1:
        raise InputError(
            f"two servers in one folder: {', '.join(servers)}", "make each of them an option of its own"
        )
    timed = sorted(
        (r for r in reports if r.server and r.began and r.ended),
        key=lambda r: (r.format, r.began.replace(tzinfo=None) if r.began else datetime.min),
    )
    for a, b in itertools.pairwise(timed):
        _check_zones(a, b)
        if a.format == b.format and (seconds_between(b.began, a.ended) or 0) > _SLACK_S:
            raise InputError(
                f"{b.place}: overlaps with {a.place}: the same time would count twice",
                "leave one of them out",
            )


def _attach(runs: Sequence[PlacedRun], others: Sequence[Report]) -> None:
    """Monitors to their runs. Raises InputError where no times tell."""
    for report in others:
        if len(runs) == 1:
            runs[0].others.append(report)
            continue
        taken = [run.others.append(part) for run in runs if (part := _during(report, run))]
        if not taken:
            raise InputError(f"{report.place}: its times are those of none of the {len(runs)} runs", _SAY)


def _check_zones(report: Report, other: Report | PlacedRun) -> None:
    """Raises InputError where only one of two times names its zone."""
    if report.began and other.began and seconds_between(report.began, other.began) is None:
        raise InputError(
            f"{report.place}: one clock names its zone, the other does not",
            'give the offset in a schedule: [[choices]] files = "..." utc_offset_minutes = 0',
        )


def _during(report: Report, run: PlacedRun) -> Report | None:
    """The part of a monitor's report within a run. Raises InputError where times are missing."""
    _check_zones(report, run)
    shift = seconds_between(run.began, report.began)
    if shift is None or run.seconds is None:
        raise InputError(f"{report.place}: tells no times, and there are several runs", _SAY)
    inside = report.samples.within(-_SLACK_S - shift, run.seconds + _SLACK_S - shift)
    if not inside:
        return None
    part = Report(report.place, report.format, report.server, run.began, run.seconds, samples=inside)
    inside.later(shift)
    part.facts, part.notices = report.facts, list(report.notices)
    if len(inside) == len(report.samples):
        part.figures, part.rows = report.figures, report.rows
    return part


def _numbered(runs: Sequence[PlacedRun]) -> list[PlacedRun]:
    """Blocks: those of folders or a schedule, else the order of an option's runs. Raises InputError."""
    by_option: dict[str, list[PlacedRun]] = {}
    for run in runs:
        by_option.setdefault(run.option, []).append(run)
    for option, found in by_option.items():
        taken = [run.block for run in found if run.block]
        zones = {run.began and run.began.tzinfo is None for run in found}
        if not taken and len(zones) == 1 and None not in zones:
            found.sort(key=lambda run: run.began or datetime.min)
        if len(set(taken)) < len(taken):
            raise InputError(f"option {option}: two runs of one block")
        free = (n for n in itertools.count(1) if n not in taken)
        for run in found:
            run.block = run.block or next(free)
    return [run for found in by_option.values() for run in found]
