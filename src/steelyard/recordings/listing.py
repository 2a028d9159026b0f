"""An import as lines of text: the derived schedule, and what was not understood."""

from collections.abc import Iterator

from steelyard.printable import printable
from steelyard.quantities import significant
from steelyard.recordings.importing import Import
from steelyard.recordings.model import questions
from steelyard.recordings.notices import cut_off
from steelyard.recordings.placed import PlacedRun
from steelyard.recordings.registry import known_formats

_LINES_SHOWN = 10
# notices that an import prints
_SAID = ("does-not-foot", "run-cut-off", "event-left-out", "left-out")


def lines_of_formats() -> Iterator[str]:
    """Formats, then published recordings."""
    for name, format_ in known_formats().items():
        yield f"{name:26} {format_.TITLE}"
    yield ""
    for name, question in questions():
        yield f"{name:26} {question}"


def lines_of_import(found: Import, every_line: bool) -> Iterator[str]:
    """A line per run, in order of option and block; figures that disagree, and lines not understood.

    every_line: of these all that were kept, not the first alone.
    """
    for run in found.runs:
        yield _run(run)
    for report in (report for run in found.runs for report in run.reports):
        for code, text in dict.fromkeys(report.notices):
            if code in _SAID:
                yield f"{printable(report.place)}: {printable(text)}"
    for file, skipped in found.unread.items():
        if text := cut_off(printable(file), skipped):
            yield text
        shown = len(skipped.lines) if every_line else _LINES_SHOWN
        many = "" if skipped.count <= shown else f", the first {shown:,}"
        yield f"{printable(file)}: {skipped.count:,} line{'s' * (skipped.count != 1)} not understood{many}:"
        for number, text in sorted(skipped.lines)[:shown]:
            yield f"  {number}: {printable(text)}"


def _run(run: PlacedRun) -> str:
    clients = [str(n) for n, _ in run.points if n]
    began = run.began.isoformat(sep=" ", timespec="seconds") if run.began else "begin not known"
    length = f"{significant(run.seconds)} s" if run.seconds else "length not known"
    formats = ", ".join(sorted({report.format for report in run.reports if report.format}))
    work = [
        max((r.work for r in reports if r.work), key=lambda one: one.detail, default=None)
        for _, reports in run.points
    ]
    counted = sum(one.transactions for one in work if one)
    done = f", {counted:,} done" if any(work) else ", no work counted"
    at = f", clients {' '.join(clients)}" if clients else ""
    return f"{run.option}, block {run.block}: {began}, {length}{at}{done} ({formats})"
