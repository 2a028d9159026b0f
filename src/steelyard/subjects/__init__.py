"""Subjects: what is weighed. A subject is one file and its line in SUBJECTS.

Its module has `check(study, options)`, which refuses what the subject cannot do before anything starts, and
`make(bench)`, which gives the subject itself; TAKES, where its work is other than statements alone;
INSIDE, where it has no server; BOOTS_ITSELF, where kernels are its own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from steelyard.host.cpus.placement import Placement
from steelyard.host.processes.guard import Guard
from steelyard.study.errors import InputError, nearest
from steelyard.study.plan import Option
from steelyard.study.spec import Study
from steelyard.study.workloads.queries import QueriesWorkload
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.study.workloads.workload import Workload
from steelyard.workloads import Work, work_of

# what a database server takes that makes its tables from files too
SERVERS = (StatementWorkload, QueriesWorkload)


class SubjectFailed(Exception):
    """The subject could not be started or did not take a setting: the study cannot go on."""


@dataclass(frozen=True)
class Server:
    """A server under load: its address, its processes, and what a run asks of it.

    protocol: what the server speaks, by the engine's name for it. socket: its Unix socket in full, where the
    name does not follow from host and port. pid: the root process whose CPU counts as the server's, None
    when it is not ours. roles: root processes of further roles, such as a pooler. dsn: address for the
    monitors. session: SQL sent by each client after it connects. inspect: SQL by name, sent in each client's
    own session after the load, for what a server shows of a session to that session alone. latch_names:
    names of its latches by number, of a process; None: the kernel's probes cannot tell its latches.
    interruption: called after the load, says as a sentence why the server is not the one that was started
    (it ended, restarted, recovered from a crash); '' when it is.
    """

    host: str
    port: int
    user: str
    database: str
    protocol: str
    socket: str | None = None
    password: str | None = None
    tls: str = "disable"
    ca_file: str | None = None
    pid: int | None = None
    roles: Mapping[str, int] = field(default_factory=dict[str, int])
    dsn: str = ""
    session: tuple[str, ...] = ()
    inspect: Mapping[str, str] = field(default_factory=dict[str, str])
    latch_names: Callable[[int], Mapping[int, str]] | None = None
    interruption: Callable[[], str] = str


@dataclass(frozen=True)
class Load:
    """What one run puts under load: which engine drives, which server is behind it, whose clock counts.

    engine: by its name in the lab's registry; plan: keys of that engine's own plan, beside those of the
    work and the phases. server: what the engine drives; None: what is measured works in process, within the
    engine. own_clock: times are of the engine's own clock, a simulation's or a guest's, so nothing on this
    machine's clock can be set beside them. limit_s: the longest that the engine may take; None: follows
    from the phases. facts: what the subject knows of what it started: version, settings, sources and more.
    """

    engine: str = "load"
    plan: Mapping[str, Any] = field(default_factory=dict[str, Any])
    server: Server | None = None
    own_clock: bool = False
    limit_s: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def in_process(self) -> bool:
        """Whether the engine's process does the measured work itself, or holds the machine that does."""
        return self.server is None or self.own_clock


@dataclass(frozen=True)
class Bench:
    """What a subject may use: the study, its options and work, a folder of its own, CPUs, the guard."""

    study: Study
    options: Sequence[Option]
    work: Work
    folder: Path
    placement: Placement
    guard: Guard


class Subject(Protocol):
    """start, reset, then a run under load; stop at its end. All raise SubjectFailed.

    Attributes: monitors, names of the monitors that suit it.
    """

    monitors: tuple[str, ...]

    def start(self, option: Option) -> Load:
        """Ready for the load, with the option's settings, each read back where there is a server."""
        ...

    def reset(self) -> None:
        """The data as it was before any run."""
        ...

    def stop(self) -> str:
        """Stops the server; returns the tail of its log ('' when it has none). Never raises."""
        ...


SUBJECTS: dict[str, str] = {
    "postgres": "steelyard.subjects.postgres.server",
    "mariadb": "steelyard.subjects.mariadb.server",
    "sqlite": "steelyard.subjects.sqlite.database",
    "latch": "steelyard.subjects.latches",
    "dispatcher": "steelyard.subjects.dispatcher.machine",
    "virtual-machine": "steelyard.subjects.guests.virtual_machine",
    "command": "steelyard.subjects.programs",
    "null": "steelyard.subjects.null",
}


# whose SQL has a module of its own, named after them; PostgreSQL's is nearest to the standard
_DIALECTS = ("postgres", "mariadb", "sqlite")


def check(study: Study, options: Sequence[Option]) -> None:
    """Raises InputError for what the subject cannot do; starts nothing."""
    module = _module(study)
    takes: type[Workload] | tuple[type[Workload], ...] = getattr(module, "TAKES", StatementWorkload)
    if not isinstance(study.workload, takes):
        raise InputError(
            f'the subject "{study.subject.kind}" cannot run a workload of kind "{study.workload.kind}"',
            at=("workload", "kind"),
        )
    module.check(study, options)


def boots_apart(study: Study) -> bool:
    """Whether a setting that takes a boot is this machine's, not a guest's that boots for each run."""
    return not getattr(_module(study), "BOOTS_ITSELF", False)


def make(bench: Bench) -> Subject:
    """The subject that a study names. Raises InputError."""
    return _module(bench.study).make(bench)


def load_statements(study: Study) -> list[str]:
    """SQL of the subject's kind that makes and fills the tables of the workload. Raises InputError."""
    work = work_of(study.workload)
    if work.files:
        raise InputError(
            f"the tables of this workload are no SQL: {', '.join(table.name for table in work.files)}",
            "fill them from the files of tpchgen-cli, with the columns that it writes",
            ("workload", "kind"),
        )
    kind = study.subject.kind if study.subject.kind in _DIALECTS else "postgres"
    return import_module(f"steelyard.subjects.{kind}.tables").load_statements(work)


def inside(study: Study) -> bool:
    """Whether what is weighed lives in the engine's process: no load needs CPUs apart from it."""
    return getattr(_module(study), "INSIDE", False)


def _module(study: Study) -> Any:
    kind = study.subject.kind
    if kind not in SUBJECTS:
        raise InputError(f'no subject "{kind}"{nearest(kind, SUBJECTS)}', at=("subject", "kind"))
    return import_module(SUBJECTS[kind])
