"""From files to runs: which reports are of one run, and which are its load points.

A group is a folder, or what a schedule calls a run. Driver reports with the same number of clients are runs
of their own, in order; those with other numbers are load points of one run. A monitor belongs to the only run
of its group, or to the runs that its own times overlap; nothing else is assumed.
"""

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from threading import Event, Thread

from steelyard.bundle.evidence import grouped
from steelyard.errors import InputError
from steelyard.recordings.filing import Filed
from steelyard.recordings.limits import Deadline
from steelyard.recordings.merge import merged
from steelyard.recordings.registry import reports_in
from steelyard.recordings.report import PlacedRun, Report, clients_of, earliest, one_clock, seconds_between
from steelyard.recordings.schedule import FileChoice
from steelyard.recordings.source import Skipped, Source

_SAY = "say which file belongs to which run in a schedule: steelyard import --example"
# pgbench writes a file per thread: pgbench_log.4711, pgbench_log.4711.1, packed or not
_THREAD = re.compile(r"(\.\d+)\.\d+((?:\.[a-z]\w*)*)$")
# runs of one option have the same of these
_WORKLOAD = {"transaction type", "scaling factor", "Benchmark Type"}
_SAME = {*_WORKLOAD, "query mode", "TPM of", "DBMS Type"}
_SLACK_S = 1.0
_TICK_S = 0.2

Progress = Callable[[Path, float], None]
Unread = dict[str, Skipped]
Reports = list[Report]


def runs_of(files: Sequence[Filed], progress: Progress, deadline: Deadline) -> tuple[list[PlacedRun], Unread]:
    """The runs, with blocks by option, and the lines not understood by file.

    progress: is called with a file and the share of it that was read. Raises InputError.
    """
    unread: Unread = {}
    runs: dict[str, list[PlacedRun]] = {}
    for group in grouped(((one.option, one.group), one) for one in files).values():
        reports = [report for one in group for report in _read(one, unread, progress, deadline)]
        runs.setdefault(group[0].option, []).extend(_of_group(group[0], reports))
    _check_alike(runs)
    for option, found in runs.items():
        _number(option, found)
    return [*itertools.chain(*runs.values())], unread


def _read(one: Filed, unread: Unread, progress: Progress, deadline: Deadline) -> Reports:
    source = Source(one.path, choices=one.choices, deadline=deadline)
    with _watched(one.path, progress):
        found = reports_in(source)
    if source.skipped.count:
        unread[str(one.path)] = source.skipped
    for report in found:
        # a log shows those that did something
        report.clients = (report.detail < 2 and report.clients) or one.clients or report.clients
        report.began = _by_our_clock(report.began or one.began, one.choices)
        report.seconds = report.seconds or one.seconds
    return found


@contextmanager
def _watched(path: Path, progress: Progress) -> Generator[None]:
    """Tells from a thread which share of a file was read, packed or not, by the kernel's account."""

    def bytes_read() -> int:
        # rchar, the first line, counts what came from the page cache too
        return int(Path("/proc/self/io").read_text().split()[1])

    def watch() -> None:
        while not done.wait(_TICK_S):
            progress(path, min((bytes_read() - start) / size, 1.0))

    done, size, start = Event(), max(path.stat().st_size, 1), bytes_read()
    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _by_our_clock(at: datetime | None, choices: FileChoice) -> datetime | None:
    if at is None:
        return None
    if at.tzinfo is None and choices.utc_offset_minutes is not None:
        at = at.replace(tzinfo=timezone(timedelta(minutes=choices.utc_offset_minutes)))
    at -= timedelta(seconds=choices.ahead_s)
    return at.astimezone(UTC) if at.tzinfo else at


def _of_group(first: Filed, reports: Sequence[Report]) -> list[PlacedRun]:
    """The runs of one folder, or of one run of a schedule; the block is that of the first."""
    reports = _threads_joined(reports)
    _check_servers(reports)
    drivers = [r for r in reports if r.format.startswith("drivers/") or (r.work and r.work.driver)]
    # where no driver printed a summary, its progress is a run
    counted = [r for r in drivers if r.work and r.work.driver] or drivers or reports
    ids = {*map(id, counted)}
    others = [report for report in reports if id(report) not in ids]
    driven, folder = bool(drivers), first.path.parent
    # the i-th report of each number of clients is of the i-th run; without a driver each file is a run
    seen: Counter[tuple[str, int | None]] = Counter()
    split: dict[str, dict[object, Reports]] = {}
    for report in counted:
        point = report.format, report.clients if report.work else None
        run = seen[point] if driven else report.file
        seen[point] += 1
        split.setdefault(report.format, {}).setdefault(run, []).append(report)
    numbers = {len(found) for found in split.values()}
    if len(numbers) > 1 or not (driven or len(split) == 1 or numbers == {1}):
        counts = ", ".join(f"{len(found)} of {name}" for name, found in split.items())
        raise InputError(f"{folder}: {counts}: which are of one run is not clear", _SAY)
    tools = sorted({report.format.partition("_")[0] for report in drivers})
    if len(tools) > 1:
        text = f"{' and '.join(tools)} both drove load: which of it is the run's is not clear"
        raise InputError(f"{folder}: {text}", _SAY)
    runs = [_run(first.option, of) for of in zip(*(one.values() for one in split.values()), strict=True)]
    if first.block and len(runs) > 1:
        raise InputError(f"{folder}: {len(runs)} runs of block {first.block}", _SAY)
    runs[0].block = first.block or 0
    for report in others:
        if report.format not in split:
            _attach(runs, report)
            continue
        # no monitor of the other runs: its readings are not theirs
        line = report.place.rpartition(":")[2]
        counted[0].notice("run-cut-off", f"the run from line {line} on has no count of its work: left out")
    for run in runs:
        for report in run.reports:
            if _zones_differ(report, run):
                text = f"{report.format}: its clock or the run's names no zone: readings begin with the run"
                report.notice("zone-unknown", text)
    return runs


def _check_alike(runs: Mapping[str, Sequence[PlacedRun]]) -> None:
    """Raises InputError for two workloads in one option, for a run that was read twice, and for one of two
    options. Says where options differ in their workload, and which runs state no number of clients.
    """
    options: dict[str, str] = {}
    of_first: dict[str, Report] = {}
    for option, found in runs.items():
        seen: dict[object, str] = {}
        facts: dict[tuple[str, str], Report] = {}
        for report in (r for run in found for r in run.reports if r.work and r.work.driver):
            for name in report.facts.keys() & _SAME:
                first = facts.setdefault((report.format, name), report)
                # the first of its option stands for it beside the first of all
                other = of_first.setdefault(name, report) if report is first else first
                # of a script's file the folder may change
                here, there = (Path(one.facts[name]).name for one in (report, other))
                text = f"another workload than {other.place}: {name} {here}, {there}"
                if here != there and report is not first:
                    hint = f"give each workload an option of its own, in place of {option}"
                    raise InputError(f"{report.place}: {text}", hint)
                if here != there and name in _WORKLOAD:
                    report.notice("workload-differs", text)
            same = seen.setdefault((report.work, *report.figures), report.place)
            if report.figures and same != report.place:
                raise InputError(f"{report.place}: the same run as in {same}", "leave one of them out")
            if len(found) > 1 and report.clients is None:
                text = "the file states no number of clients: runs may be of different load points"
                report.notice("clients-unknown", text)
            if (of := options.setdefault(report.file, option)) != option:
                raise InputError(f"{report.place}: a run of {of} and of {option}", "give it to one option")
    points = [point for found in runs.values() for run in found for point in run.points]
    clients = [clients_of(point) for point in points]
    if None in clients and any(clients):
        place = points[clients.index(None)][0].place
        hint = "say it by a folder clients-N, or in a schedule"
        raise InputError(f"{place}: names no number of clients, as other runs do", hint)


def _run(option: str, of_formats: Sequence[Reports]) -> PlacedRun:
    """A run of the reports of each format: those that counted work at its load points, and others."""
    worked: Reports = []
    others: Reports = []
    for report in itertools.chain(*of_formats):
        (worked if report.work else others).append(report)
    alone = all(len(found) == 1 for found in of_formats)
    points = grouped((None if alone else report.clients, report) for report in worked)
    return PlacedRun(option, 0, sorted(points.values(), key=lambda one: one[0].clients or math.inf), others)


def _threads_joined(reports: Sequence[Report]) -> Reports:
    """Logs of the threads of one pgbench become one report."""
    found: Reports = []
    logs: dict[str, Reports] = {}
    files = {report.file for report in reports}
    for report in reports:
        if report.format == "drivers/pgbench_log":
            # a prefix may end with a number
            first = _THREAD.sub(r"\1\2", report.file)
            logs.setdefault(first if first in files else report.file, []).append(report)
        else:
            found.append(report)
    return found + [merged(threads, side_by_side=True) for threads in logs.values()]


def _check_servers(reports: Sequence[Report]) -> None:
    """Raises InputError for two servers or hosts, and for reports that cover the same time twice."""
    hosts = {report.facts.get("host", "") for report in reports}
    for kind, names in (("servers", {report.server for report in reports}), ("hosts", hosts)):
        if len(named := sorted(names - {""})) > 1:
            text = f"two {kind} together: {', '.join(named)}"
            raise InputError(text, "make each of them an option of its own")
    timed = sorted(
        (r for r in reports if (r.server or r.work) and r.began and r.seconds is not None),
        key=lambda r: (r.format, str(r.began)),
    )
    for a, b in itertools.pairwise(timed):
        if a.format != b.format:
            continue
        _check_zones(a, b)
        overlap_s = (a.seconds or 0) - (seconds_between(a.began, b.began) or 0)
        # the last transactions of a load may take longer
        if overlap_s > (_SLACK_S if a.server else (b.seconds or 0) / 2):
            raise InputError(
                f"{b.place}: overlaps with {a.place}: that time would count twice", "leave one of them out"
            )


def _attach(runs: Sequence[PlacedRun], report: Report) -> None:
    """A monitor to its runs. Raises InputError where no times tell."""
    began = earliest(of.began for point in runs[0].points for of in point)
    timed = bool(report.shares) and seconds_between(began, report.began) is not None
    parts = [_during(report, run) for run in runs] if timed or len(runs) > 1 else [report]
    if len(runs) == 1 and parts[0]:
        # what it read before and after is kept: figures alone are of the run
        report.figures, parts = parts[0].figures, [report]
    if not any(parts):
        raise InputError(f"{report.place}: its times are those of none of the {len(runs)} runs", _SAY)
    for run, part in zip(runs, parts, strict=True):
        run.others += filter(None, [part])


def _zones_differ(report: Report, other: Report | PlacedRun) -> bool:
    """Whether only one of two times names its zone."""
    return bool(report.began and other.began) and seconds_between(report.began, other.began) is None


def _check_zones(report: Report, other: Report | PlacedRun) -> None:
    """Raises InputError where only one of two times names its zone."""
    if _zones_differ(report, other):
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
    span = -_SLACK_S - shift, run.seconds + _SLACK_S - shift
    inside = report.samples.within(*span, middles=True)
    if not inside:
        return None
    inside.later(shift)
    part = replace(report, began=run.began, seconds=run.seconds, samples=inside, notices=[*report.notices])
    if len(inside) < len(report.samples):
        part.figures, part.rows, part.shares = [], {}, report.shares.within(*span, middles=True)
        part.mean_shares()
    return part


def _number(option: str, runs: list[PlacedRun]) -> None:
    """Blocks of an option: those of folders or a schedule, else the order of its runs. Raises InputError."""
    taken = [run.block for run in runs if run.block]
    if not taken and one_clock(runs):
        runs.sort(key=lambda run: str(run.began))
    if len(set(taken)) < len(taken):
        raise InputError(f"option {option}: two runs of one block")
    free = (n for n in itertools.count(1) if n not in taken)
    for run in runs:
        run.block = run.block or next(free)
