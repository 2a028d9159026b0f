"""Runs or resumes a study for the commands: plan, progress, verdict, next command."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from rich.console import Console

from steelyard.analysis.verdict.crash import at_risk
from steelyard.bundle.reader import Bundle
from steelyard.bundle.writer import refuse_existing
from steelyard.errors import InputError, typed
from steelyard.host.processes.confinement import unconfined
from steelyard.host.processes.process_mark import other_studies
from steelyard.host.processes.signals import Interrupts
from steelyard.lab.machine.refused_settings import inherited
from steelyard.lab.reboots import Paused
from steelyard.lab.runner import StudyFailed
from steelyard.monitors.sql.queries import queries_of
from steelyard.quantities import listed
from steelyard.report.terminal.plan import Expected, print_lines, print_plan
from steelyard.report.terminal.progress import MatrixPlan, Progress
from steelyard.study.load_study import find_study, located
from steelyard.study.overrides import Adjusted
from steelyard.study.passwords import VARIABLE, from_environment
from steelyard.subjects.in_turns import distinct_servers, room_of_servers, servers_of
from steelyard.subjects.servers.by_address import written
from steelyard.subjects.servers.option_settings import folders_of
from steelyard.workflow.complaint import complain, complain_of, program, say
from steelyard.workflow.exit_codes import Exit
from steelyard.workflow.measure import is_finished, resume, start
from steelyard.workflow.prepare import PreparedStudy, expected_s
from steelyard.workflow.runs import dry_rehearsal
from steelyard.workloads import work_of

# of the CPUs that we may use
_LOAD_SHARE = 0.5
# work that waits for a disk or a client is seen running only at times
_LOOKS_MAX = 20
_LOOK_EVERY_S = 0.02


def _expectation(prepared: PreparedStudy) -> Expected:
    """Its length, its servers, and what this machine refuses or does besides."""
    study, kind = prepared.study, prepared.kind
    redone = prepared.redone_blocks_max if prepared.sees_disturbance else 0
    redo_s = redone * len(prepared.options) * (prepared.run_s or 0.0)
    busy = "" if study.workload.simulated else busy_machine()
    expected_now_s = expected_s(prepared, slowdown() if busy else 1.0)
    checksums = kind.checksums
    named = written((work_of(o.workload) for o in prepared.options), kind.protocol).values()
    return Expected(
        expected_now_s,
        redo_s,
        prepared.one_after_another,
        _servers(prepared),
        prepared.refused,
        [] if study.workload.simulated else inherited(),
        busy,
        held="" if checksums is None else checksums(study, prepared.options),
        writes=", ".join(named) if study.subject.writes else "",
        folders=folders_of(study, prepared.options),
        unconfined=unconfined() if kind.listens and not study.subject.dsn else "",
        unverified=[
            f"{name}: the set {query.shipped_as} is {query.mark}"
            for name, query in queries_of(study).items()
            if query.mark
        ],
    )


def _servers(prepared: PreparedStudy) -> str:
    number = len(set(servers_of(prepared.study, prepared.options).values()))
    if prepared.one_after_another or number < 2:
        return ""
    room = room_of_servers(prepared.study, prepared.options)
    own = number > len(set(distinct_servers(prepared.options).values()))
    need = f" that need about {room}" if room.memory_bytes else ""
    return f"{number} servers{need}" + ": one for each option, as statements write; the disk is shared" * own


def busy_machine(proc: Path = Path("/proc")) -> str:
    """`load average 3.3 on 2 CPUs and another study (process 4711)`; '' for a quiet machine.

    The load average still holds what ended a minute ago, our own last study for one: it counts only while
    other threads run now, in one of some looks.
    """
    parts = [*_load(proc)]
    if labs := other_studies(proc):
        numbers = listed([str(pid) for pid in labs], most=3)
        parts.append(
            f"another study (process {numbers})" if len(labs) == 1 else f"other studies (processes {numbers})"
        )
    return listed(parts)


def slowdown(proc: Path = Path("/proc")) -> float:
    """How much longer a single busy thread takes beside the load of the last minute: 1 on a quiet machine."""
    try:
        average, _ = _look(proc)
        return max(1.0, (average + 1) / len(os.sched_getaffinity(0)))
    except (OSError, ValueError):
        return 1.0


def _load(proc: Path) -> list[str]:
    try:
        average, running = _look(proc)
        cpus = len(os.sched_getaffinity(0))
        busy = average >= _LOAD_SHARE * cpus
        for _ in range(_LOOKS_MAX if busy else 0):
            if running:
                break
            time.sleep(_LOOK_EVERY_S)
            _, running = _look(proc)
    except (OSError, ValueError):
        return []
    busy = busy and running > 0
    return [f"load average {average:.1f} on {cpus} CPU{'s' * (cpus > 1)}"] if busy else []


def _look(proc: Path) -> tuple[float, int]:
    """The load average, and how many threads run now, without this one."""
    average, _, _, threads, _ = (proc / "loadavg").read_text().split()
    return float(average), int(threads.partition("/")[0]) - 1


def run_study(chosen: Adjusted, bundle: Path | None, dry_run: bool = False, as_json: bool = False) -> None:
    """Runs a new study. Exits with the codes of the command line."""
    if dry_run:
        _show_plan(chosen, bundle)
        return
    _check_temporary_folder()
    prepared = _shown(chosen)
    path = bundle or Path(f"{prepared.study.name}-{datetime.now():%Y%m%d-%H%M%S}.bundle")
    _finish(partial(start, prepared, path), prepared, path, as_json)


def _show_plan(chosen: Adjusted, bundle: Path | None) -> None:
    """Prints the plan, and all that is missing; exits with BAD_INPUT if anything is."""
    problems: list[InputError] = []
    checks = [_check_temporary_folder, *([] if bundle is None else [partial(refuse_existing, bundle)])]
    for check in checks:
        try:
            check()
        except InputError as error:
            problems.append(error)
    try:
        prepared = _shown(chosen)
        unset = list(_unset_variables(prepared))
        problems += unset
        if not unset:
            with located(prepared.text, prepared.origin):
                print_lines(dry_rehearsal(prepared).lines(), Console(stderr=True))
    except InputError as error:
        problems.append(error)
    for problem in problems:
        complain_of(problem)
    if problems:
        sys.exit(Exit.BAD_INPUT)


def _shown(chosen: Adjusted) -> PreparedStudy:
    """The study, whose plan and notes are printed."""
    prepared = PreparedStudy.of(chosen.text, chosen.origin)
    print_plan(prepared.study, prepared.options, _expectation(prepared), Console(stderr=True))
    for note in filter(None, dict.fromkeys((*prepared.left_out, *at_risk(prepared.options), *chosen.notes))):
        say(note)
    return prepared


def resume_study(bundle: Path, study: str | None, as_json: bool) -> None:
    """Continues a stopped study."""
    _check_temporary_folder()
    found = Bundle(bundle)
    if study:
        prepared = PreparedStudy.of(find_study(study)[1], study)
    else:
        prepared = PreparedStudy.of(found.study_text, str(bundle / "study.toml"), found.files)
        # programs run where they ran before
        if folder := found.environment.get("study", {}).get("folder"):
            prepared = replace(prepared, folder=Path(folder))
    if is_finished(bundle, prepared):
        say(f"{bundle}: this study is finished: nothing is left to run")
    _finish(partial(resume, bundle, prepared), prepared, bundle, as_json)


def _finish(
    work: Callable[[Progress, Interrupts], None], prepared: PreparedStudy, path: Path, as_json: bool
) -> None:
    code = Exit.DONE
    before = len(_finished(path))
    progress = Progress(Console(stderr=True))
    interrupts = Interrupts(progress.interrupted)
    labels = tuple(option.label for option in prepared.options)
    # the clock of a guest may differ from ours
    unit = None if prepared.kind.boots_itself else prepared.study.workload.rate_unit
    progress.start(MatrixPlan(labels, len(prepared.blocks), prepared.run_s, unit))
    try:
        with interrupts.raised():
            work(progress, interrupts)
    except Paused as pause:
        progress.stop()
        say(f"paused: {pause}\nhint: {pause.hint}")
        sys.exit(Exit.BOOT_NEEDED)
    except InputError as error:
        # what the study names was lost in the middle
        if len(_finished(path)) > before:
            error.hint += f"; finished runs are kept, continue with\n{program()} resume {typed(path)}"
        raise
    except StudyFailed as error:
        progress.stop()
        complain(str(error))
        code = Exit.STUDY_FAILED
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    finally:
        progress.stop()
    if code is not Exit.DONE:
        if logs := sorted(path.glob("logs/*.log")):
            say(f"hint: the end of the {prepared.study.workload.WHO}'s log is in {logs[-1]}")
        done = _finished(path)
        # after a failure every option needs one
        if set(labels) <= set(done) or (code is Exit.INTERRUPTED and done):
            say(f"hint: finished runs are kept: {program()} resume {typed(path)}")
    from steelyard.workflow.show import show

    try:
        shown = show(path, form="json" if as_json else "terminal")
        code = shown if code is Exit.DONE else code
    except InputError:
        # without a finished run there is no verdict; the cause is already printed
        if code is Exit.DONE:
            raise
    sys.exit(code)


def _finished(path: Path) -> list[str]:
    with suppress(InputError):
        return list(map(str, Bundle(path).columns("select option from runs where status = 'done'")["option"]))
    return []


def _check_temporary_folder() -> None:
    """Raises InputError where TMPDIR is no folder that can be written: Python would take another."""
    named = os.environ.get("TMPDIR")
    if named is None:
        return
    folder = Path(named)
    if not folder.is_dir():
        raise InputError(f"TMPDIR: {named}: no such folder", "create it, or unset TMPDIR")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"TMPDIR: {named}: this user cannot write there", "name another folder in TMPDIR")


def _unset_variables(prepared: PreparedStudy) -> Iterator[InputError]:
    """The variables of the environment that the study names and that are not set."""
    texts = {("subject.dsn", prepared.study.subject.dsn or "")}
    for option in prepared.options:
        texts.add(("workload.driver_url", getattr(option.workload, "driver_url", "")))
        for key, own in option.workload.model_dump(include={"environment", "driver_properties"}).items():
            texts |= {(f"workload.{key}.{name}", str(text)) for name, text in own.items()}
    for at, text in sorted(texts):
        for name in dict.fromkeys(VARIABLE.findall(text)):
            try:
                from_environment(name, at)
            except InputError as error:
                yield error
