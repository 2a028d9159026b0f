"""A server at an address: checks which factors and settings of a study can act on it."""

import re
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from steelyard.errors import InputError
from steelyard.sql_text import commands_of
from steelyard.study.factors import place_of_setting, settings_given
from steelyard.study.passwords import expand
from steelyard.study.study import Option, Options, Study
from steelyard.study.workloads.statements import Transaction
from steelyard.subjects import Bench, Load, Server, SharedSubject, SubjectFailed
from steelyard.workloads import Work, work_of

_READS = re.compile(r"[\s(]*(select|with|values|table|show|explain|desc|describe)\b", re.IGNORECASE)
# within a reading text; a read-only transaction allows the functions (lo_ before PostgreSQL 16) and the file
_WRITES = re.compile(
    r"\b(insert|merge)\s+into\b|\bdelete\s+from\b|\bupdate\s+\S+\s+set\b|\b(lo_|dblink)\w*\s*\("
    r"|\binto\s+(out|dump)file\b",
    re.IGNORECASE,
)
_TABLE = re.compile(
    r"\b(?:into(?!\s+(?:out|dump)file)|update|delete\s+from|table|truncate|copy)\s+"
    r"(?:(?:only|table|if|not|exists)\s+)*((?:\"[^\"]+\"|`[^`]+`|[\w.])+)",
    re.IGNORECASE,
)

# at its beginning, or a function that acts on the session
_OF_SESSION = re.compile(
    r"(?:set(?!\s+(?:local|transaction))|reset|prepare|deallocate|discard|listen|declare|load"
    r"|create\s+(?:local\s+|global\s+|or\s+replace\s+)*temp(?:orary)?)\b"
    r"|.*\b(?:set_config|pg_(?:try_)?advisory_lock(?:_shared)?|get_lock)\s*\(",
    re.IGNORECASE | re.DOTALL,
)
# of PostgreSQL: what ends the transaction, or runs outside one
_COMMITS = re.compile(r"(begin|start|commit|end|abort|rollback|prepare|call|vacuum)\b", re.IGNORECASE)
# of MariaDB: what a roll back undoes; others commit by themselves
# https://mariadb.com/docs/server/reference/sql-statements/transactions/sql-statements-that-cause-an-implicit-commit
_UNDONE = re.compile(
    r"[\s(]*(select|with|values|table|insert|replace|update|delete|do|show|explain|desc|describe|savepoint"
    r"|release)\b",
    re.IGNORECASE,
)
# sent before the trial's own BEGIN, by protocol: ends with its transaction, also behind a pooler
_READ_ONLY = {"postgres": "begin read only", "mysql": "set transaction read only"}


_RETURN_S = 30.0
_ATTEMPTS = 3
_LOOK_S = 0.5


class Unreachable(InputError):
    """The server at the address does not let the lab in."""


class AtAddress(SharedSubject):
    """Connects; starts nothing, changes no settings, creates no tables."""

    _reached = False

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def start(self, option: Option) -> Load:
        """The server at the address, whose tables must exist. Raises InputError, SubjectFailed.

        Waits 30 s for one that went away in the middle of a study.
        """
        limit_s = time.monotonic() + _RETURN_S
        while True:
            try:
                load = self.connect(option)
            except Unreachable as error:
                if not self._reached:
                    raise
                if time.monotonic() > limit_s:
                    raise SubjectFailed(
                        f"the server went away in the middle of the study and did not return within"
                        f" {_RETURN_S:g} s: {error}"
                    ) from None
                time.sleep(_LOOK_S)
            else:
                self._reached = True
                return load

    @property
    def dsn(self) -> str:
        """The address, with its secrets. Raises InputError."""
        return expand(self._bench.study.subject.dsn or "")

    @cached_property
    def shared(self) -> bool:
        """Whether a pooler gives sessions to several clients. Raises InputError for what needs its own."""
        found = any(self.shares_sessions() for _ in range(_ATTEMPTS))
        if found:
            _check_shared(self._bench.study, self._bench.options)
        return found

    def connect(self, option: Option) -> Load:
        """As `start`, at once. Raises Unreachable as well."""
        raise NotImplementedError

    def shares_sessions(self) -> bool:
        """Whether two sessions, opened now, are seen to be shared. Reads alone."""
        raise NotImplementedError


def reading(server: Server) -> Server:
    """The server, whose sessions begin with a read-only transaction."""
    return replace(server, session=(*server.session, _READ_ONLY[server.protocol]))


def commits_itself(protocol: str, sql: str) -> bool:
    """Whether a roll back may not undo a statement."""
    if protocol == "mysql":
        return re.search(r"/\*M?!", sql) is not None or not all(
            map(_UNDONE.match, commands_of(sql, protocol))
        )
    return any(map(_COMMITS.match, commands_of(sql, protocol)))


def written(works: Iterable[Work], protocol: str) -> dict[str, str]:
    """The statements whose texts write, by name: each with its table, as far as its text names one."""
    found: dict[str, str] = {}
    for work in works:
        if work.read_only:
            continue
        for name, statement in work.statements.items():
            commands = commands_of(statement.sql, protocol)
            if writing := [one for one in commands if not _READS.match(one) or _WRITES.search(one)]:
                table = _TABLE.search("; ".join(writing))
                found[name] = f"{name} ({table[1]})" if table else name
    return found


def refuse_writes(statements: Iterable[str]) -> None:
    """Raises InputError for statements that write without consent."""
    if named := ", ".join(statements):
        raise InputError(
            f"statements write, or may write, on a server at an address: {named}",
            "writes = true under [subject], on a server whose data may change",
            ("subject", "dsn"),
        )


def keeps_data(study: Study) -> bool:
    """Whether no run gets fresh data: what one has written is there for the next."""
    return study.subject.dsn is not None and study.subject.restore != "reload"


def _check_numbers(study: Study) -> None:
    """Raises InputError for a sequence whose numbers may be in the data at an address already."""
    work = work_of(study.workload)
    given = {("statements", name, "parameters"): one.parameters for name, one in work.statements.items()}
    for name, transaction in work.transactions.items():
        if isinstance(transaction, Transaction):
            given["transactions", name, "values"] = transaction.values
    for at, generators in given.items():
        for name, one in generators.items():
            needs = {"unique": {"start"}, "sequence": {"start", "to"}}.get(one.kind, set[str]())
            if missing := sorted(needs - one.model_fields_set):
                raise InputError(
                    f"{one.kind} needs {' and '.join(missing)} on a server at an address: its data stay",
                    "start: the first number that no row has, or of the rows to change; to: the last one",
                    ("workload", *at, name),
                )


def check_foreign(study: Study) -> None:
    """Raises InputError for a factor or setting that acts on a server at an address."""
    if work_of(study.workload).directory is not None:
        raise InputError(
            "subject.dsn names a server at an address: its own database is used",
            "leave data_directory out",
            ("workload", "data_directory"),
        )
    if keeps_data(study):
        _check_numbers(study)
    grows, reloads = bool(work_of(study.workload).grows), study.subject.restore == "reload"
    if reloads and study.subject.kind != "postgres":
        raise InputError("restore = 'reload' is for PostgreSQL", "leave dsn out", ("subject", "restore"))
    if reloads and not study.subject.writes:
        refuse_writes(["the schema of restore = 'reload'"])
    if grows and not reloads:
        instead = (
            ', or restore = "reload": in a schema of its own' if study.subject.kind == "postgres" else ""
        )
        raise InputError(
            "subject.dsn names a server at an address: the lab cannot restore its data for each block",
            f"leave dsn out: the lab starts a server and fills it{instead}",
            ("workload", "kind"),
        )
    if reloads and not grows:
        raise InputError(
            'restore = "reload" has no effect: runs add nothing to the data of this workload',
            "remove it",
            ("subject", "restore"),
        )
    for name, factor in study.factors.items():
        if factor.scope == "schema":
            raise InputError(
                "scope 'schema' would change the tables of a server that the lab did not start (subject.dsn)",
                "leave dsn out: data_file and data_directory take a copy of its data",
                ("factors", name, "scope"),
            )
        if factor.scope in ("version", "server"):
            raise InputError(
                f"scope '{factor.scope}' cannot act on a server that the lab did not start (subject.dsn)",
                'use scope session or client, or scope host without settings "server."',
                ("factors", name, "scope"),
            )
    for at, key, _ in settings_given(study, "host"):
        if key.startswith("server."):
            raise InputError(
                f"{key} cannot be set for a server that the lab did not start (subject.dsn)",
                "use engine., hogs. and settings of this machine",
                at,
            )


def _check_shared(study: Study, options: Options) -> None:
    """Raises InputError for what belongs to one session, where a pooler gives it to several clients."""
    for option in options:
        handle = getattr(option.workload, "handle", "none")
        found = [(name, place_of_setting(study, option.levels, "session", name)) for name in option.session]
        if handle not in ("none", "unnamed"):
            at = place_of_setting(study, option.levels, "client", "handle")
            found.append((f"handle = '{handle}'", at))
        for name, statement in work_of(option.workload).statements.items():
            if any(map(_OF_SESSION.match, commands_of(statement.sql))):
                found.append((name, ("workload", "statements", name)))
        if study.subject.restore == "reload":
            found.append(("restore = 'reload'", ("subject", "restore")))
        for needs, at in found:
            raise InputError(
                f"option {option.label}: {needs} needs a session of its own, but the pooler at"
                " subject.dsn shares sessions",
                'name the server itself in dsn, or leave this out (handle = "unnamed" or "none")',
                at,
            )
