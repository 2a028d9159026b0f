"""Runs or resumes a study for the commands: plan, progress, verdict, next command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
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
from steelyard.study.overrides import Adjusted
from steelyard.subjects import kind_of
from steelyard.subjects.in_turns import room_of_servers, servers_of
from steelyard.workflow.busy_machine import busy_machine, slowdown
from steelyard.workflow.complaint import complain, say
from steelyard.workflow.exit_codes import Exit
from steelyard.workflow.measure import is_finished, resume, start
from steelyard.workflow.missing import check_bundle_folder, check_temporary_folder, missing
from steelyard.workflow.prepare import PreparedStudy, expected_s
from steelyard.workflow.program_name import program


def run_study(chosen: Adjusted, bundle: Path | None, dry_run: bool = False, as_json: bool = False) -> None:
    """Runs a new study. Exits with the codes of the command line."""
    if dry_run:
        _show_plan(chosen, bundle)
        return
    check_temporary_folder()
    prepared = PreparedStudy.of(chosen.text, chosen.origin)
    _print_plan(prepared, chosen.lost)
    path = bundle or Path(f"{prepared.study.name}-{datetime.now():%Y%m%d-%H%M%S}.bundle")
    _finish(partial(start, prepared, path), prepared, path, as_json)


def _show_plan(chosen: Adjusted, bundle: Path | None) -> None:
    """Prints the plan, and all that is missing; exits with BAD_INPUT if anything is."""
    problems: list[InputError] = []
    checks = [check_temporary_folder, *([] if bundle is None else [partial(check_bundle_folder, bundle)])]
    for check in checks:
        try:
            check()
        except InputError as error:
            problems.append(error)
    try:
        prepared = PreparedStudy.of(chosen.text, chosen.origin)
    except InputError as error:
        problems.insert(0, error)
    else:
        _print_plan(prepared, chosen.lost)
        problems += missing(prepared)
    for problem in problems:
        complain(str(problem), problem.hint)
    if problems:
        sys.exit(Exit.BAD_INPUT)


def _print_plan(prepared: PreparedStudy, lost: str) -> None:
    study, console = prepared.study, Console(stderr=True)
    redone = prepared.redone_blocks_max if prepared.sees_disturbance else 0
    redo_s = redone * len(prepared.options) * (prepared.run_s or 0.0)
    busy = "" if study.workload.simulated else busy_machine()
    expected_now_s = expected_s(prepared, slowdown() if busy else 1.0)
    checksums = kind_of(study).checksums
    expected = Expected(
        expected_now_s,
        redo_s,
        prepared.one_after_another,
        _servers(prepared),
        prepared.refused,
        busy,
        held="" if checksums is None else checksums(study, prepared.options),
    )
    print_plan(study, prepared.options, expected, console)
    if lost:
        say(f"quick: {lost}")


def _servers(prepared: PreparedStudy) -> str:
    number = len(set(servers_of(prepared.options).values()))
    if prepared.one_after_another or number < 2:
        return ""
    room = room_of_servers(prepared.study, prepared.options)
    return f"{number} servers" + (f" that need about {room}" if room.memory_bytes else "")


def resume_study(bundle: Path, study: str | None, as_json: bool = False) -> None:
    """Continues a stopped study."""
    check_temporary_folder()
    if study:
        prepared = PreparedStudy.of(find_study(study)[1], study)
    else:
        found = Bundle(bundle)
        prepared = PreparedStudy.of(found.study_text, str(bundle / "study.toml"), found.files)
        # programs run where they ran before
        folder = Path(found.environment.get("study", {}).get("folder", prepared.folder))
        prepared = replace(prepared, folder=folder)
    if is_finished(bundle, prepared):
        say(f"{bundle}: this study is finished: nothing is left to run")
    _finish(partial(resume, bundle, prepared), prepared, bundle, as_json)


def _finish(
    work: Callable[[Progress, Interrupts], None], prepared: PreparedStudy, path: Path, as_json: bool
) -> None:
    code, failure = Exit.DONE, ""
    progress = Progress(Console(stderr=True))
    interrupts = Interrupts(progress.interrupted)
    labels = tuple(option.label for option in prepared.options)
    study = prepared.study
    # the clock of a guest may differ from ours
    unit = None if kind_of(study).boots_itself else study.workload.rate_unit
    progress.start(MatrixPlan(labels, len(prepared.blocks), prepared.run_s, unit))
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
            say(f"hint: the end of the {prepared.study.workload.WHO}'s log is in {logs[-1]}")
        if _worth_resuming(path, prepared, code):
            say(f"hint: finished runs are kept: {program()} resume {typed(path)}")
    from steelyard.workflow.show import show

    try:
        written = show(path, form="json" if as_json else "terminal")
        if not written and code is Exit.DONE:
            code = Exit.STUDY_FAILED
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
