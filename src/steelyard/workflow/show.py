"""Shows a bundle: verdict on standard output, and report.html in the bundle."""

import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Literal

from rich.console import Console

from steelyard.analysis.comparison.block_table import estimated_runs
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Judgement
from steelyard.bundle.evidence import Evidence
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.read import read_series
from steelyard.bundle.storage.files import write_whole
from steelyard.errors import InputError, shown, typed
from steelyard.host.processes.limits import TimedOut, within
from steelyard.recordings.importing import bundle_of, write_published
from steelyard.recordings.published import catalogue
from steelyard.report.about.provenance import about_bundle
from steelyard.report.drawing import start
from steelyard.report.export import EXPORTERS, write_images
from steelyard.report.page.html import render
from steelyard.report.presented import Presented
from steelyard.report.terminal.verdict import print_next, print_verdict
from steelyard.workflow.complaint import complain, opened, program
from steelyard.workflow.exit_codes import Exit

_DRAWING_S = 3600.0

Form = Literal["terminal", "json", "markdown"]


def show(
    path: Path,
    html: Path | None = None,
    images: Path | None = None,
    form: Form = "terminal",
    overlay: Sequence[str] = (),
) -> Exit:
    """Judges the bundle, prints the verdict in that form, writes its report. Raises InputError.

    STUDY_FAILED: the report could not be written, or the options did not do the same work.
    path: of a bundle, or the name of a recording. overlay: bundles or names of recordings whose curves are
    shown, in addition to those of the study.
    """
    path = bundle_of(path)
    page = html or path / "report.html"
    presented = _presented(path, page, overlay)
    console = Console()
    if form == "terminal":
        # first, because writing the page takes seconds; a reader that has gone (| head) still gets the page
        with suppress(SystemExit):
            print_verdict(presented, console)
    try:
        within(_DRAWING_S, "drawing the report", lambda: write_whole(page, render(presented)))
    except (OSError, TimedOut) as error:
        # with a full disk the verdict is still printed
        why = error.strerror if isinstance(error, OSError) else error
        complain(f"{page}: the report could not be written: {why}")
        presented = replace(presented, about=replace(presented.about, report=""))
    if images is not None:
        try:
            within(_DRAWING_S, "drawing the charts", partial(write_images, images, presented))
        except OSError as error:
            raise InputError(f"{error.filename or images}: cannot be written: {error.strerror}") from None
        except TimedOut as error:
            raise InputError(f"{images}: {error}") from None
    if form in EXPORTERS:
        sys.stdout.write(EXPORTERS[form](presented))
    else:
        print_next(presented, console)
    unequal = presented.judgement.verdict.outcome == "unequal work"
    return Exit.STUDY_FAILED if unequal or not presented.about.report else Exit.DONE


def _presented(path: Path, page: Path, overlay: Sequence[str]) -> Presented:
    bundle = Bundle(path)
    with suppress(OSError):  # said where it draws
        start()
    # no `with`: an interrupt would wait for the threads
    beside = ThreadPoolExecutor()
    beside.submit(import_module, "scipy.special")  # the tests of the analysis wait for it otherwise
    evidence = bundle.evidence()
    others = (*bundle.study.overlay, *(other for other in overlay if other not in bundle.study.overlay))
    overlays = [(Path(other).stem, judge(_evidence(other)).scaling) for other in others]
    series = beside.submit(read_series, bundle, estimated_runs(evidence))
    about = beside.submit(about_bundle, bundle, shown(page))
    judgement = judge(evidence)
    for other, (_, curves) in zip(others, overlays, strict=True):
        if other in overlay and not (judgement.scaling and curves):
            hint = "leave it out; `steelyard compare` compares two bundles at any load points"
            raise InputError(f"--overlay {other}: no curves without two load points in both bundles", hint)
    # the page is read elsewhere: its command is for its own folder, however far the bundle is moved
    moved = Path(os.path.relpath(path.resolve(), page.parent.resolve()))
    measured = replace(
        about.result(),
        next_command=f"{program()} {_next(judgement, typed(path))}",
        page_command=f"{program(page.parent)} {_next(judgement, typed(moved))}",
    )
    return Presented(judgement, series.result(), measured, overlays)


def _next(judgement: Judgement, bundle: str) -> str:
    """The next command: goes on, compares a single option with another bundle, or looks into the runs."""
    if any(notice.code == "study-unfinished" for notice in judgement.notices):
        return f"resume {bundle}"
    if judgement.verdict.outcome == "measured":
        return f"compare {bundle} OTHER.bundle"
    return f'sql {bundle} "select * from runs"'


def _evidence(name: str) -> Evidence:
    if name not in catalogue():
        return opened(Path(name)).evidence()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / name
        write_published(name, place)
        return Bundle(place).evidence()
