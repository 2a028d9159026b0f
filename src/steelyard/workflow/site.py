"""The machine of a study's server: there the study is prepared, and its runs are made."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from steelyard.host.processes.guard import GuardLost
from steelyard.lab.engines.place import Place
from steelyard.lab.engines.registry import LoadFailed
from steelyard.lab.environment.environment import environment
from steelyard.lab.environment.redaction import redact_text, without_secrets
from steelyard.lab.finished_run import Run
from steelyard.lab.laboratory import Laboratory, Progress
from steelyard.lab.machine.boots import Boot
from steelyard.lab.machine.host_settings import Host
from steelyard.lab.monitor_check import check_monitors
from steelyard.lab.runner import StudyFailed, block
from steelyard.lab.statement_check import check_statements
from steelyard.report.terminal.plan import Expected
from steelyard.study.errors import InputError, brief
from steelyard.study.plan import Slot
from steelyard.subjects import Bench, SubjectFailed, kind_of
from steelyard.subjects.in_turns import servers_of
from steelyard.workflow.attempts import Attempt
from steelyard.workflow.bench import bench_of, placement_of
from steelyard.workflow.expectation import expectation
from steelyard.workflow.fleet import place_of_engines
from steelyard.workflow.missing import missing
from steelyard.workflow.prepare import PreparedStudy

# length of a cause of failure: logs of programs and servers are long
_FAILURE_CHARACTERS_MAX = 2000

Admit = Callable[[str, Mapping[str, Any]], None]
# the runs of a block: from an attempt on, with so many blocks that may be run again (lab/runner.py)
Runs = Callable[[Sequence[Slot], Attempt, int], Iterator[Run]]


class Site(Protocol):
    """The machine of a study's server."""

    @property
    def prepared(self) -> PreparedStudy:
        """The study, as prepared there."""
        ...

    def expected(self) -> Expected:
        """What to expect of it there."""
        ...

    def missing(self) -> Sequence[InputError]:
        """What is missing there for its runs."""
        ...

    def environment(self) -> dict[str, Any]:
        """Facts of that machine, with the CPUs of server and engine."""
        ...

    def runs(self, progress: Progress, admit: Admit) -> AbstractContextManager[Runs]:
        """Makes runs while the context lasts; then all that was started or changed for them is undone.

        admit: see `Laboratory`. Raises InputError, StudyFailed, BootNeeded.
        """
        ...


@dataclass(frozen=True)
class Here:
    """This machine. engines: where the load engines run while a context lasts; default: as the study says."""

    prepared: PreparedStudy
    engines: Callable[[PreparedStudy], AbstractContextManager[Place]] = field(default=place_of_engines)

    def expected(self) -> Expected:
        """Of this machine."""
        return expectation(self.prepared)

    def missing(self) -> Sequence[InputError]:
        """Of this machine."""
        return list(missing(self.prepared))

    def environment(self) -> dict[str, Any]:
        """Of this machine."""
        return {**environment(), "placement": _placement(self.prepared)}

    @contextmanager
    def runs(self, progress: Progress, admit: Admit) -> Generator[Runs]:
        """On this machine."""
        prepared, study = self.prepared, self.prepared.study
        with without_secrets(study), self.engines(prepared) as place, bench_of(prepared) as bench:
            kind, taking_turns = kind_of(study), not prepared.one_after_another
            subjects = [kind.make(own) for own in _benches(bench, taking_turns)]
            host = Host(bench.guard, bench.placement, Boot.now() if prepared.boots else None)
            laboratory = Laboratory(
                study,
                bench.works,
                kind,
                subjects,
                taking_turns,
                bench.placement,
                host,
                progress,
                admit,
                place,
            )

            def runs(slots: Sequence[Slot], attempt: Attempt, redo: int) -> Iterator[Run]:
                for run in block(laboratory, slots, attempt.number, attempt.done, attempt.void, redo):
                    yield run
                    bench.guard.check()
                    place.check()

            try:
                try:
                    check_statements(bench, kind, subjects[0])
                    check_monitors(bench, kind, subjects[0])
                    yield runs
                finally:
                    for subject in subjects:
                        subject.stop()
                    host.restore()
            except (SubjectFailed, GuardLost, LoadFailed, OSError) as error:
                raise StudyFailed(brief(redact_text(str(error), study), _FAILURE_CHARACTERS_MAX)) from error


def _benches(bench: Bench, in_turns: bool) -> Iterator[Bench]:
    """One per server that is up at the same time, each with a folder of its own."""
    yield bench
    for number in range(1, max(servers_of(bench.options).values()) + 1 if in_turns else 1):
        # below the first one, which lets the servers' user through
        folder = bench.folder / f"server{number + 1}"
        folder.mkdir(mode=0o700)
        yield replace(bench, folder=folder)


def _placement(prepared: PreparedStudy) -> dict[str, Any]:
    """CPUs of the server and of the engine; those of a server at an address are not known."""
    placement = placement_of(prepared)
    known = prepared.study.subject.dsn is None
    return {
        "server_cpus": sorted(placement.server) if known else [],
        "engine_cpus": sorted(placement.engine),
        "apart": known and placement.apart,
    }
