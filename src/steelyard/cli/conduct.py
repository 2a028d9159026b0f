"""Runs or resumes a study as the commands ask: plan first, progress, verdict, where to look next."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console

from steelyard.bundle.reader import Bundle
from steelyard.cli.exits import Exit
from steelyard.lab.runner import StudyFailed
from steelyard.report.terminal import Progress, print_plan
from steelyard.study.errors import InputError
from steelyard.study.plan import run_seconds
from steelyard.study.reading import find_study, parse_study
from steelyard.weigh import Assignment, resume, start

# set-up of a run beside its phases: server start, copy of the data, connecting; seen on two cores
_SET_UP_S = 1.5


def conduct(
    text: str, origin: str, bundle: Path | None, dry_run: bool = False, as_json: bool = False
) -> None:
    """A new study. Leaves with the exit codes of the command line."""
    study = parse_study(text, origin)
    assignment = Assignment.of(study, text)
    console = Console(stderr=True)
    runs = sum(map(len, assignment.blocks))
    print_plan(
        console,
        study,
        [option.label for option in assignment.options],
        runs * (run_seconds(study) + _SET_UP_S),
    )
    if dry_run:
        return
    path = bundle or Path(f"{study.name}-{datetime.now():%Y%m%d-%H%M%S}.bundle")
    progress = Progress(console, runs, run_seconds(study) + _SET_UP_S)
    _finish(lambda: start(assignment, path, progress), progress, path, as_json)


def conduct_again(bundle: Path, study: str | None, as_json: bool = False) -> None:
    """The rest of a study that stopped."""
    begun = Bundle(bundle)
    text = find_study(study)[1] if study else begun.study_text
    assignment = Assignment.of(parse_study(text, study or str(bundle / "study.toml")), text)
    seconds = run_seconds(assignment.study) + _SET_UP_S
    done = int(begun.duckdb.execute("select count(*) from used_runs").fetchall()[0][0])
    progress = Progress(Console(stderr=True), max(1, sum(map(len, assignment.blocks)) - done), seconds)
    _finish(lambda: resume(bundle, assignment, progress), progress, bundle, as_json)


def _finish(work: Callable[[], None], progress: Progress, path: Path, as_json: bool) -> None:
    code = Exit.DONE
    try:
        with progress:
            work()
    except StudyFailed as error:
        code = Exit.STUDY_FAILED
        click.echo(f"error: {error}", err=True)
        logs = sorted(path.glob("logs/*.log"))
        if logs:
            click.echo(f"hint: the server's last words are in {logs[-1]}", err=True)
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
        click.echo(f"interrupted; finished runs are kept: steelyard resume {path}", err=True)
    from steelyard.cli.showing import show

    try:
        show(path, as_json=as_json)
    except InputError:
        # no run was finished, so there is nothing to judge; the cause has been told already
        if code is Exit.DONE:
            raise
    sys.exit(code)
