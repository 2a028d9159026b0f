"""Subjects: what is weighed. A subject is one file and its line in SUBJECTS.

Its module has `check(study)`, which refuses what the subject cannot do before anything starts, and
`make(bench)`, which gives the subject itself; TAKES, where its work is other than statements alone;
INSIDE, where it has no server; BOOTS_ITSELF, where kernels are its own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
class Endpoint:
    """Where the load engine connects, and what the monitors watch.

    protocol: what the server speaks, one of crates/load/src/drivers.rs. socket: its Unix socket in full,
    where the name does not follow from host and port. pid: the server's root process, None when it is not
    ours. others: root processes of further roles, such as a pooler's (front). session: SQL sent by each
    client after it connects. lwlocks: whether its latches are PostgreSQL's. inspect: SQL by name, asked of
    each client's own session after the load, for what a server shows of a session to nobody else. facts:
    what the subject knows of its server. interruption: to be called after the load: why the server is not
    the one that was started (it ended, restarted, recovered from a crash), as a sentence; '' when it is.
    """

    host: str
    port: int
    user: str
    database: str
    protocol: str = "postgres"
    socket: str | None = None
    password: str | None = None
    tls: str = "disable"
    ca_file: str | None = None
    pid: int | None = None
    others: Mapping[str, int] = field(default_factory=dict[str, int])
    dsn: str = ""
    lwlocks: bool = False
    session: tuple[str, ...] = ()
    inspect: Mapping[str, str] = field(default_factory=dict[str, str])
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    interruption: Callable[[], str] = str


@dataclass(frozen=True)
class Inside:
    """A subject that has no server: it lives in the process of an engine of its own.

    engine: which of the lab's engines; plan: the keys of that engine's plan that are not the study's
    (points, phases, seed, and the statements where there are any). simulated: its clock is not ours, so
    nothing outside it can be watched. within: a server that the engine itself brings to life, and has
    under load from within.
    """

    engine: str
    plan: Mapping[str, Any]
    simulated: bool = False
    within: Endpoint | None = None
    dsn: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Bench:
    """What a subject may use: the study and its work, a folder of its own, CPUs, the guard."""

    study: Study
    work: Work
    folder: Path
    placement: Placement
    guard: Guard


class Subject(Protocol):
    """start, reset, then a run under load; stop at its end. All raise SubjectFailed.

    Attributes: monitors, names of the monitors that suit it.
    """

    monitors: tuple[str, ...]

    def start(self, option: Option) -> Endpoint | Inside:
        """A server with the option's settings, each read back from it; or a plan of an engine."""
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


def check(study: Study) -> None:
    """What can be told without starting anything. Raises InputError for what the subject cannot do."""
    module = _module(study)
    takes: type[Workload] | tuple[type[Workload], ...] = getattr(module, "TAKES", StatementWorkload)
    if not isinstance(study.workload, takes):
        raise InputError(
            f'the subject "{study.subject.kind}" cannot run a workload of kind "{study.workload.kind}"',
            at=("workload", "kind"),
        )
    module.check(study)


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
