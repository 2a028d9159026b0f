"""Runs or resumes a study for the commands: plan, progress, verdict, next command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

from rich.console import Console

from steelyard.bundle.reader import Bundle
from steelyard.host.processes.signals import Interrupts
from steelyard.lab.reboots import Paused
from steelyard.lab.runner import StudyFailed
from steelyard.report.terminal.plan import Expected, print_plan
from steelyard.report.terminal.progress import MatrixPlan, Progress
from steelyard.study.errors import InputError, typed
from steelyard.study.load_study import find_study
from steelyard.study.plan import redone_blocks_max, run_seconds
from steelyard.study.study import Study
from steelyard.subjects import kind_of
from steelyard.workflow.busy_machine import busy_machine
from steelyard.workflow.complaint import complain, say
from steelyard.workflow.exit_codes import Exit
from steelyard.workflow.measure import resume, start
from steelyard.workflow.prepare import PreparedStudy
from steelyard.workflow.program_name import program

# to compute the verdict and write the page
_AFTER_S = 6.0


def run_study(
    text: str, origin: str, bundle: Path | None, dry_run: bool = False, as_json: bool = False
) -> None:
    """Runs a new study. Exits with the codes of the command line."""
    prepared = PreparedStudy.of(text, origin)
    study = prepared.study
    console = Console(stderr=True)
    runs = sum(map(len, prepared.blocks))
    after_s = 0.0 if study.workload.simulated else _AFTER_S
    redone = redone_blocks_max(study.plan) if prepared.sees_disturbance else 0
    redo_s = redone * len(prepared.options) * _run_s(study)
    busy = "" if study.workload.simulated else busy_machine()
    expected = Expected(runs * _run_s(study) + after_s, redo_s, prepared.refused, busy)
    print_plan(study, prepared.options, expected, console)
    if dry_run:
        return
    path = bundle or Path(f"{study.name}-{datetime.now():%Y%m%d-%H%M%S}.bundle")
    _finish(partial(start, prepared, path), prepared, path, as_json)


def resume_study(bundle: Path, study: str | None, as_json: bool = False) -> None:
    """Continues a stopped study."""
    if study:
        prepared = PreparedStudy.of(find_study(study)[1], study)
    else:
        found = Bundle(bundle)
        prepared = PreparedStudy.of(found.study_text, str(bundle / "study.toml"), found.files)
    _finish(partial(resume, bundle, prepared), prepared, bundle, as_json)


def _run_s(study: Study) -> float:
    kind = kind_of(study)
    return kind.run_s or run_seconds(study) + kind.set_up_s


def _finish(
    work: Callable[[Progress, Interrupts], None], prepared: PreparedStudy, path: Path, as_json: bool
) -> None:
    code, failure = Exit.DONE, ""
    progress = Progress(Console(stderr=True))
    interrupts = Interrupts(progress.interrupted)
    labels = tuple(option.label for option in prepared.options)
    study = prepared.study
    # the clock of a guest may differ from ours
    unit = None if kind_of(study).run_s else study.workload.rate_unit
    progress.start(MatrixPlan(labels, len(prepared.blocks), _run_s(study), unit))
    try:
        with interrupts.raised():
            work(progress, interrupts)
    except Paused as pause:
        progress.stop()
        say(f"paused: {pause}\nhint: {pause.hint}")
        sys.exit(Exit.BOOT_NEEDED)
    except StudyFailed as error:
        code = Exit.STUDY_FAILED
        failure = str(error)
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    finally:
        progress.stop()
    if failure:
        complain(failure)
    if code is not Exit.DONE:
        if logs := sorted(path.glob("logs/*.log")):
            say(f"hint: the end of the server's log is in {logs[-1]}")
        if _worth_resuming(path, prepared, code):
            say(f"hint: finished runs are kept: {program()} resume {typed(path)}")
    from steelyard.workflow.show import show

    try:
        show(path, form="json" if as_json else "terminal")
    except InputError:
        # without a finished run there is no verdict; the cause is already printed
        if code is Exit.DONE:
            raise
    sys.exit(code)


def _worth_resuming(path: Path, prepared: PreparedStudy, code: Exit) -> bool:
    """Whether there are finished runs, and after a failure, whether every option has one."""
    try:
        found = Bundle(path).columns("select distinct option from runs where status = 'done'")["option"]
    except InputError:
        return False
    done = set(map(str, found))
    return done >= {option.label for option in prepared.options} or (code is Exit.INTERRUPTED and bool(done))
