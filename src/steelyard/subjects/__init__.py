"""Subjects: the systems to measure. A subject is one file with a `KIND`, and its line in SUBJECTS."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol, runtime_checkable

from steelyard.errors import InputError, nearest
from steelyard.host.cpus.scheduling import Placement
from steelyard.host.finding import Finding
from steelyard.host.processes.guard import Guard
from steelyard.study.key_types import Settings, SettingTable
from steelyard.study.study import Option, Options, Scope, Study
from steelyard.study.workloads.of_files import ReplayWorkload
from steelyard.study.workloads.queries import QueriesWorkload
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.study.workloads.transactions import DerivedWorkload
from steelyard.study.workloads.workload import Workload
from steelyard.subjects.servers.network import check_reach
from steelyard.subjects.servers.option_settings import refuse_lab_properties
from steelyard.subjects.servers.room import Footprint
from steelyard.workloads import Work

# workloads of a database server that can also load tables from files
SQL_WORK = (StatementWorkload, QueriesWorkload, DerivedWorkload, ReplayWorkload)

# keys of [subject] that only servers have
NO_SERVER: Mapping[str, str] = dict.fromkeys(("session", "bindir", "dsn"), "leave it out")

_SCOPES: Mapping[Scope, str] = {
    "version": "bindir",
    "server": "its settings",
    "schema": "SQL after the data",
    "session": "settings of a session",
    "client": "those of the workload",
    "host": "those of this machine",
}


class SubjectFailed(Exception):
    """The subject could not be started or refused a setting: the study cannot continue."""


@dataclass(frozen=True)
class Server:
    """A server under load: its address, its processes, its sessions.

    protocol: the wire protocol, one of crates/load/src/drivers.rs. socket: the full path of its Unix socket,
    where the name does not follow from host and port. pid: the root process whose CPU counts as the server's,
    None for a server elsewhere. roles: root processes of further roles, such as a pooler. dsn: address for
    the monitors. session: SQL that each client sends after it connects. inspect: SQL by name, sent in each
    client's session after the load, for numbers that only this session can read. turn_end: SQL that each
    client sends at the end of a turn, so that its counts are complete then. latch_names: names of a process's
    latches by number; None: the kernel's probes cannot identify its latches. interruption: called after the
    load; a sentence if the server ended, restarted or recovered from a crash, else ''. number: the number
    that a SELECT gives in its database, by a connection of its own; None: not supported. left_sql: SELECT of
    the number of connections that it still admits; '': not known. sessions: those whose statement begins with
    a text, by thread; None: not known. escapes: a backslash in a text escapes (MySQL).
    """

    host: str
    port: int
    user: str
    database: str
    protocol: str
    socket: str | None = None
    password: str | None = None
    tls: str = "disable"
    escapes: bool = True
    ca_file: str | None = None
    pid: int | None = None
    roles: Mapping[str, int] = field(default_factory=dict[str, int])
    dsn: str = ""
    session: tuple[str, ...] = ()
    inspect: Mapping[str, str] = field(default_factory=dict[str, str])
    turn_end: str = ""
    latch_names: Callable[[int], Mapping[int, str]] | None = None
    interruption: Callable[[], str] = str
    number: Callable[[str], int] | None = None
    left_sql: str = ""
    sessions: Callable[[str], Sequence[int]] | None = None


@dataclass(frozen=True)
class Load:
    """The load of one run: the engine, the server under load, and the clock.

    engine: its name in the lab's registry; plan: further keys of that engine's plan. server: the server under
    load; None: the measured work runs in process, within the engine. own_clock: times are of the engine's own
    clock, a simulation's or a guest's, and not comparable with this machine's clock. limit_s: time limit for
    the engine; None: follows from the phases. facts: of the subject: version, settings, sources.
    """

    engine: str = "load"
    plan: Mapping[str, Any] = field(default_factory=dict[str, Any])
    server: Server | None = None
    own_clock: bool = False
    limit_s: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def in_process(self) -> bool:
        """Whether the engine's process does the measured work, itself or in a machine that it simulates."""
        return self.server is None or self.own_clock


@dataclass(frozen=True)
class Bench:
    """Resources of a subject: the study, its options and their work, a folder, CPUs, the guard.

    works: by option; they differ in statements and transactions alone. source: the study as given on the
    command line, for commands in hints. study_folder: that of its file.
    """

    study: Study
    options: Options
    works: Mapping[str, Work]
    folder: Path
    placement: Placement
    guard: Guard
    source: str = "STUDY"
    study_folder: Path = Path()

    @property
    def kind(self) -> "Kind":
        """Of the subject."""
        return kind_of(self.study)

    @property
    def work(self) -> Work:
        """The data, which all options share."""
        return self.works[self.options[0].label]


class Subject(Protocol):
    """start, reset, then a run under load, then stop. start and reset raise SubjectFailed."""

    def start(self, option: Option) -> Load:
        """Starts the subject with the option's settings, each read back from a server."""
        ...

    def reset(self) -> None:
        """Restores the data to its state before the first run; nothing where each start makes them anew."""
        pass

    def stop(self) -> str:
        """Stops the server, if it is ours; the tail of its log, '' when there is none. Never raises."""
        return ""


@runtime_checkable
class SharedSubject(Subject, Protocol):
    """A subject of a kind that takes turns: its server may serve the options of several runs."""

    def join(self, option: Option) -> Load:
        """The load of an option on the server that runs: same programs, settings and schema."""
        return self.start(option)


@dataclass(frozen=True)
class Kind:
    """Properties of a kind of subject, available before a subject starts.

    name: for messages. make: creates the subject of a study. check: raises InputError for unsupported
    studies, and starts nothing. takes: workloads that it runs. protocol: wire protocol of its servers. lacks:
    keys of [subject] that it does not have, each with a hint. durability_off: settings of `durability =
    "off"`; none: no choice. scopes: scopes of factors that act on it, each with its settings. checksums: the
    data checksums of a study's options where they are not each server's own default, as a clause; None: no
    choice. monitors: its default monitors. in_process: whether the measured work runs within the engine, so
    that the load needs no separate CPUs. turns: whether its options can take turns within a block; its
    subjects are then SharedSubjects. listens: whether hosts of a fleet can load the servers that the lab
    starts. why_no_turns: the reason against them, which follows a colon; footprint: what its servers take of
    memory and disk; None: next to nothing, or none of the lab's. boots_itself: whether it boots kernels
    itself, instead of this machine. set_up_s: typical length of a run without its phases, on two cores;
    round_s: of a round of long queries, per unit of scale; run_s: typical length of a whole run that has its
    own clock. load_statements: SQL and data files that create and fill the tables of a work; None: it has no
    tables. driver_errors: exceptions of its driver, which make a run void. error_meanings: effect of a server
    error on the results, by the beginning of its message. statement_errors: patterns of error codes that
    other values would not avoid (syntax, missing table); (): no answer refuses the study. no_table: codes for
    a missing table. explain: the prefix that gives a statement's plan, and the column that holds it. wrote:
    SELECT of a number that grows with each write; rows updated (NULL: not known); inserted (NULL: whether
    alone is known); deleted; names of what gives other rows for equal values. settles: statement before it,
    at the end. evicts: whether it drops rows by itself. client: the command for SQL on a server at an
    address. no_sql: the command that loads a data file which is not SQL; '' for SQL. findings: of the doctor.
    drivers: whether JDBC drivers can send the statements (workload.driver). sql_monitors: whether monitors
    can query its servers. latch_program: one whose latches probes identify.
    """

    name: str
    make: Callable[[Bench], Subject]
    check: Callable[[Study, Options], None]
    takes: tuple[type[Workload], ...]
    protocol: str = "postgres"
    lacks: Mapping[str, str] = field(default_factory=dict[str, str])
    durability_off: Settings = field(default_factory=SettingTable)
    scopes: Mapping[Scope, str] = field(default_factory=lambda: _SCOPES)
    checksums: Callable[[Study, Options], str] | None = None
    monitors: tuple[str, ...] = ("host", "processes", "disturbance")
    in_process: bool = False
    turns: bool = False
    listens: bool = False
    why_no_turns: str = ""
    footprint: Footprint | None = None
    boots_itself: bool = False
    set_up_s: float = 1.5
    round_s: float = 30.0
    run_s: Callable[[Study, Options], float] | None = None
    load_statements: Callable[[Work], list[str | Path]] | None = None
    driver_errors: tuple[type[Exception], ...] = ()
    error_meanings: Mapping[str, str] = field(default_factory=dict[str, str])
    statement_errors: tuple[str, ...] = ()
    no_table: tuple[str, ...] = ()
    explain: tuple[str, str] | None = None
    wrote: str = ""
    settles: str = ""
    evicts: bool = False
    client: str = ""
    no_sql: Callable[[Path], str] = lambda _: ""
    findings: Callable[[], Iterable[Finding]] = tuple
    drivers: bool = False
    not_rehearsed: str = ""
    sql_monitors: bool = False
    latch_program: Callable[[], Path | None] = lambda: None


SUBJECTS = {
    "postgres": "steelyard.subjects.postgres.server:KIND",
    "mariadb": "steelyard.subjects.mariadb.server:KIND",
    "valkey": "steelyard.subjects.valkey.server:KIND",
    "jdbc": "steelyard.subjects.jdbc:KIND",
    "sqlite": "steelyard.subjects.sqlite.database:KIND",
    "latch": "steelyard.subjects.latches:KIND",
    "dispatcher": "steelyard.subjects.dispatcher.machine:KIND",
    "virtual-machine": "steelyard.subjects.guests.virtual_machine:KIND",
    "program": "steelyard.subjects.programs:KIND",
    "null": "steelyard.subjects.null:KIND",
}


def kinds() -> Iterator[Kind]:
    """Every registered kind of subject."""
    return map(_kind, SUBJECTS)


def kind_of(study: Study) -> Kind:
    """The kind of subject that a study names. Raises InputError."""
    name = study.subject.kind
    if name not in SUBJECTS:
        raise InputError(f'no subject "{name}"{nearest(name, SUBJECTS)}', at=("subject", "kind"))
    return _kind(name)


def check(study: Study, options: Options) -> None:
    """Raises InputError for a study that the subject does not support; starts nothing."""
    kind = kind_of(study)
    if not isinstance(study.workload, kind.takes):
        raise InputError(
            f'the subject "{study.subject.kind}" cannot run a workload of kind "{study.workload.kind}"',
            at=("workload", "kind"),
        )
    if not kind.drivers and any(getattr(option.workload, "driver", "") for option in options):
        raise InputError(f"{kind.name} takes no JDBC driver", "leave it out", ("workload", "driver"))
    refuse_lab_properties(study, options)
    if study.sql_monitors and not kind.sql_monitors:
        raise InputError(f"{kind.name} takes no monitors by SQL", at=("monitors", *study.sql_monitors)[:2])
    given = study.subject.model_dump(exclude_defaults=True)
    choices = {"durability": kind.durability_off, "data_checksums": kind.checksums}
    lacks = {key: "leave it out" for key, choice in choices.items() if not choice}
    for key, hint in {**lacks, **kind.lacks}.items():
        if given.get(key):
            raise InputError(f"{kind.name} has no {key}", hint, ("subject", key))
    for name, factor in study.factors.items():
        if factor.scope not in kind.scopes:
            raise InputError(
                f"scope '{factor.scope}' cannot act on {kind.name}",
                "; ".join(f"{scope}: {what}" for scope, what in kind.scopes.items()),
                ("factors", name, "scope"),
            )
    check_reach(study, [o.workload for o in options], kind.name, kind.listens, "dsn" not in kind.lacks)
    kind.check(study, options)
    if kind.checksums is not None:
        kind.checksums(study, options)


def started(subject: Subject, option: Option) -> Load:
    """The subject with its data, ready for the load. Raises SubjectFailed, which names the option."""
    try:
        load = subject.start(option)
        subject.reset()
    except SubjectFailed as error:
        where = f"option {option.label}: "
        error.args = (where + str(error).removeprefix(where),)
        raise
    return load


def _kind(name: str) -> Kind:
    return resolve_name(SUBJECTS[name])
