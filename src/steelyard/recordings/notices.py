"""What a reader of an import must know: its runs, clocks, sampling modes, lines not understood."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from steelyard.printable import printable
from steelyard.quantities import significant
from steelyard.recordings.merge import pooled_run
from steelyard.recordings.report import PlacedRun, clients_of, one_clock
from steelyard.recordings.source import Skipped

_LINES_SHOWN = 10
# notices that an import prints
_SAID = (
    "does-not-foot",
    "workload-differs",
    "clients-unknown",
    "run-cut-off",
    "event-left-out",
    "left-out",
    "zone-unknown",
    "profiles-added",
)


def add_notices(runs: Sequence[PlacedRun], unread: Mapping[str, Skipped], source: str) -> None:
    """Adds notices on the whole recording to its runs. source: who measured it."""
    general = [*_modes(runs), *_order(runs)]
    of_file = {report.file: run for run in reversed(runs) for report in run.reports}
    for file, skipped in unread.items():
        report = of_file.get(file, runs[0]).reports[0]
        report.notice("not-understood", _not_understood(file, skipped))
        if text := cut_off(file, skipped):
            report.notice("cut-off", text)
    for run in runs:
        report = run.reports[0]
        if text := _few(run, runs):
            report.notice("one-run", text)
        for code, text in general:
            report.notice(code, text)
        if source:
            report.notice("recording", f"a recording: {source}")


def lines_of_import(
    runs: Sequence[PlacedRun], unread: Mapping[str, Skipped], every_line: bool
) -> Iterator[str]:
    """A line per run, in order of option and block; figures that disagree, and lines not understood.

    every_line: of these all that were kept, not the first alone.
    """
    for run in runs:
        yield _shown(pooled_run(run))
    for report in (report for run in runs for report in run.reports):
        for code, text in report.notices:
            if code in _SAID:
                yield f"{printable(report.place)}: {printable(text)}"
    for file, skipped in unread.items():
        if text := cut_off(printable(file), skipped):
            yield text
        shown = len(skipped.lines) if every_line else _LINES_SHOWN
        many = "" if skipped.count <= shown else f", the first {shown:,}"
        yield f"{printable(file)}: {skipped.count:,} line{'s' * (skipped.count != 1)} not understood{many}:"
        for number, text in sorted(skipped.lines)[:shown]:
            yield f"  {number}: {printable(text)}"


def _shown(run: PlacedRun) -> str:
    clients = [str(n) for point in run.points if (n := clients_of(point))]
    began = run.began.isoformat(sep=" ", timespec="seconds") if run.began else "begin not known"
    length = f"{significant(run.seconds)} s" if run.seconds else "length not known"
    formats = ", ".join(sorted({report.format for report in run.reports}))
    work = [report.work for report in run.reports if report.work]
    counted = sum(one.transactions for one in work)
    done = f", {counted:,} done" if work else ", no work counted"
    at = f", clients {' '.join(clients)}" if clients else ""
    return f"{run.option}, block {run.block}: {began}, {length}{at}{done} ({formats})"


def _few(run: PlacedRun, runs: Sequence[PlacedRun]) -> str:
    if sum(other.option == run.option for other in runs) > 1:
        return ""
    alone = len({other.option for other in runs}) == 1
    series = any(report.work and report.work.by_second for report in run.reports)
    text = "one run alone: no interval across runs"
    return f"{text}; the seconds within it are no runs" if series else text if alone else ""


def cut_off(file: str, skipped: Skipped) -> str:
    """Where a file ends too early; empty for a whole one."""
    if skipped.cut_off_at is None:
        return ""
    return f"{Path(file).name} is cut off at line {skipped.cut_off_at:,}: what comes before it was imported"


def _not_understood(file: str, skipped: Skipped) -> str:
    number, text = min(skipped.lines)
    many = "1 line was" if skipped.count == 1 else f"{skipped.count:,} lines were"
    return f'{Path(file).name}: {many} not understood, the first is line {number}: "{text}"'


def _modes(runs: Sequence[PlacedRun]) -> Iterator[tuple[str, str]]:
    kernels, samplings = (
        {report.facts[fact] for run in runs for report in run.reports if report.facts.get(fact)}
        for fact in ("kernel mode", "Sample Mode")
    )
    if len(kernels) > 1:
        yield (
            "engine-percentages",
            "engine percentages of the threaded and of the process mode count different things and are not"
            " compared: compare the CPU time that the operating system counts",
        )
    if len(samplings) > 1:
        yield "sampling-modes", f"sp_sysmon was run in several modes: {', '.join(sorted(samplings))}"


def _order(runs: Sequence[PlacedRun]) -> Iterator[tuple[str, str]]:
    """That the order of runs made the blocks: options that did not take turns drift apart."""
    labels = {run.option for run in runs}
    if len(labels) < 2 or max(run.block for run in runs) < 2:
        return
    if not one_clock(runs):
        yield "order-unknown", "the files do not tell in which order the runs were: blocks are their numbers"
        return
    ordered = sorted(runs, key=lambda run: str(run.began))
    if sum(a.option != b.option for a, b in itertools.pairwise(ordered)) < len(labels):
        text = "all runs of one option came before those of another: what changed over time counts too"
        yield "not-in-turn", text
