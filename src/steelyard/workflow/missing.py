"""All that a study needs and that is missing here, found before it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from steelyard.lab.doctor.permissions import refused_probes
from steelyard.lab.environment.redaction import redact_text, without_secrets
from steelyard.lab.monitor_check import check_monitors
from steelyard.lab.statement_check import check_statements
from steelyard.study.errors import InputError, typed
from steelyard.study.load_study import located
from steelyard.study.passwords import VARIABLE, from_environment
from steelyard.study.study import Study
from steelyard.study.workloads.driven import DrivenWorkload
from steelyard.study.workloads.program import ProgramWorkload
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import SubjectFailed, kind_of
from steelyard.workflow.bench import bench_of
from steelyard.workflow.prepare import PreparedStudy


def missing(prepared: PreparedStudy) -> Iterator[InputError]:
    """What is missing for the runs themselves, each with a remedy.

    Contacts a server at an address; starts one for statements of the user's own, to have them checked.
    """
    unset = [*_unset_variables(prepared)]
    yield from unset
    yield from _refused_probes(prepared.study)
    if not unset:
        yield from _refused_by_server(prepared)


def check_temporary_folder() -> None:
    """Raises InputError where TMPDIR is no folder that can be written: Python would take another."""
    named = os.environ.get("TMPDIR")
    if named is None:
        return
    folder = Path(named)
    if not folder.is_dir():
        raise InputError(f"TMPDIR: {named}: no such folder", "create it, or unset TMPDIR")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"TMPDIR: {named}: this user cannot write there", "name another folder in TMPDIR")


def check_bundle_folder(path: Path) -> None:
    """Raises InputError where the bundle would overwrite something."""
    if os.path.lexists(path) and (not path.is_dir() or any(path.iterdir())):
        raise InputError(
            f"{path}: already exists; a bundle is never overwritten",
            f"choose another with --bundle, or `steelyard resume {typed(path)}`",
        )


def _unset_variables(prepared: PreparedStudy) -> Iterator[InputError]:
    """The variables of the environment that the study names and that are not set."""
    texts = {("subject.dsn", prepared.study.subject.dsn or "")}
    for option in prepared.options:
        if isinstance(option.workload, ProgramWorkload):
            own = option.workload.environment
            texts |= {(f"workload.environment.{name}", str(text)) for name, text in own.items()}
        if isinstance(option.workload, DrivenWorkload):
            texts.add(("workload.driver_url", option.workload.driver_url))
            own = option.workload.driver_properties
            texts |= {(f"workload.driver_properties.{name}", str(text)) for name, text in own.items()}
    for at, text in sorted(texts):
        for name in dict.fromkeys(VARIABLE.findall(text)):
            try:
                from_environment(name, at)
            except InputError as error:
                yield error


def _refused_probes(study: Study) -> Iterator[InputError]:
    """The kernel probes that the study names and this machine refuses."""
    probes = study.probes
    named = {
        "profile": probes.profile_hz,
        "locks": probes.locks,
        "sched": probes.scheduling_trace_s,
        "latches": probes.latch_count_s,
    }
    if not any(named.values()):
        return
    program = kind_of(study).latch_program() if probes.latch_count_s else None
    for source, why in refused_probes(program).items():
        if named.get(source):
            cause, _, hint = why.rstrip(")").partition(" (")
            yield InputError(f"probe {source}: {cause}", hint)


def _refused_by_server(prepared: PreparedStudy) -> Iterator[InputError]:
    """A server at an address that does not answer or lacks tables; the user's statements that cannot run."""
    study = prepared.study
    own = isinstance(study.workload, StatementWorkload) and study.workload.statements
    if not study.subject.dsn and not own and not study.sql_monitors:
        return
    with bench_of(prepared) as bench:
        kind = kind_of(study)
        subject = kind.make(bench)
        try:
            with located(prepared.text, prepared.origin), without_secrets(study):
                if study.subject.dsn:
                    subject.start(prepared.options[0])
                check_statements(bench, kind, subject)
                check_monitors(bench, kind, subject)
        except InputError as error:
            yield error
        except SubjectFailed as error:
            yield InputError(redact_text(str(error), study))
        finally:
            subject.stop()
