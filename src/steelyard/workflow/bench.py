"""The resources of a study's subject: CPUs, a folder, and the guard that cleans up after both."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from steelyard.host.cpus.placement import Placement, place
from steelyard.host.processes.guard import Guard
from steelyard.study.errors import typed
from steelyard.subjects import Bench, kind_of
from steelyard.workflow.prepare import PreparedStudy
from steelyard.workloads import work_of


@contextmanager
def bench_of(prepared: PreparedStudy) -> Generator[Bench]:
    """The bench of a study while the context lasts; then its folder is removed, and what was started ends."""
    with Guard() as guard, temporary_folder(guard) as folder:
        study = prepared.study
        yield Bench(
            study,
            prepared.options,
            {option.label: work_of(option.workload) for option in prepared.options},
            folder,
            placement_of(prepared),
            guard,
            typed(Path(prepared.origin)),
            prepared.folder,
        )


def placement_of(prepared: PreparedStudy) -> Placement:
    """The same for all options: enough CPUs for the option with the most threads."""
    study = prepared.study
    threads = max(option.workload.engine_threads for option in prepared.options)
    return place(0 if kind_of(study).in_process else threads, study.plan.pin)


@contextmanager
def temporary_folder(guard: Guard) -> Generator[Path]:
    """A folder, of the study's servers or files, always removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="steelyard-"))
    promise = guard.remove_folder(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        guard.forget(promise)
