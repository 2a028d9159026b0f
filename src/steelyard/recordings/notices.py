"""What a reader of an import must know: clocks, sampling modes, runs too few, lines not understood."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.recordings.placed import PlacedRun
from steelyard.recordings.source import Skipped


def add_notices(runs: Sequence[PlacedRun], unread: Mapping[str, Skipped]) -> None:
    """Adds notices on the whole recording to its runs."""
    for run in runs:
        report = run.reports[0]
        text = _few(run, runs)
        if text:
            report.notices.append(("one-run", text))
    first = runs[0].reports[0].notices
    first += [("not-understood", _not_understood(file, skipped)) for file, skipped in unread.items()]
    first += [("cut-off", text) for file, skipped in unread.items() if (text := cut_off(file, skipped))]
    for run in runs:
        run.reports[0].notices += [n for n in (_modes(runs), _sampling(runs), _blocks(runs)) if n]


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


def _modes(runs: Sequence[PlacedRun]) -> tuple[str, str] | None:
    modes = {report.facts.get("kernel mode", "") for run in runs for report in run.reports} - {""}
    if len(modes) < 2:
        return None
    return (
        "engine-percentages",
        "engine percentages of the threaded and of the process mode count different things and are not"
        " compared: compare the CPU time that the operating system counts",
    )


def _sampling(runs: Sequence[PlacedRun]) -> tuple[str, str] | None:
    modes = {report.facts.get("Sample Mode", "") for run in runs for report in run.reports} - {""}
    if len(modes) < 2:
        return None
    return "sampling-modes", f"sp_sysmon was run in several modes: {', '.join(sorted(modes))}"


def _blocks(runs: Sequence[PlacedRun]) -> tuple[str, str] | None:
    """That the order of runs made the blocks: options that did not take turns drift apart."""
    labels = {run.option for run in runs}
    if len(labels) < 2 or max(run.block for run in runs) < 2:
        return None
    timed = [run for run in runs if run.began]
    if len(timed) < len(runs) or len({run.began.tzinfo is None for run in timed if run.began}) > 1:
        return "order-unknown", "the files do not tell in which order the runs were: blocks are their numbers"
    ordered = sorted(timed, key=lambda run: str(run.began))
    turns = sum(a.option != b.option for a, b in itertools.pairwise(ordered))
    if turns < len(labels):
        return (
            "not-in-turn",
            "all runs of one option came before those of another: what changed over time counts too",
        )
    return None
