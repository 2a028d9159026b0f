"""Which statements of a session can be replayed, what a replay cannot reproduce; their classes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Literal

from steelyard.captures import statements
from steelyard.captures.entry import COPIED, CUT, FAILED, UNDOING, Entry, Records
from steelyard.workloads.replay import CapturedClass

_FAILED_TRANSACTION = "statements of transactions that failed in the capture"
_UNFINISHED = "statements of transactions that did not end in the capture"
_ENCODING = "statements that are not UTF-8"
_RELEASED = "releases of a driver's prepared statements: a replay has its own"
_LONG = f"statements longer than {statements.LONGEST_CHARACTERS >> 20} MiB"
_EMPTY = "empty statements"
_CHOICES = "choices of a database: a replay has one"
_WITHOUT_BEGIN = "without a begin in the capture"

SERVER_VALUES = "statements with values that the server makes (time, sequences, random numbers)"
GIVES = "statements whose result has values of the server, which later ones may contain"
STATE = "statements that change the state of their session"
WRITES = "writes of sessions that ran side by side: their order between sessions is not that of the capture"
_CALLS = "calls of procedures: a replay does twice what the log also has of their statements (MySQL)"
BATCHES = "texts of several statements, each measured as one"

_Transaction = list[Entry]


@dataclass
class _State:
    """Of a session, as its server has it. seen: whether its transactions are known, since one began."""

    open: bool = False
    autocommit: bool = True
    seen: bool = False

    def step(self, act: str) -> None:
        """After one statement.

        Manuals: PostgreSQL, "BEGIN" (within a transaction it has no effect); MariaDB, "SET autocommit" (1
        commits), "START TRANSACTION" (commits what is open).
        """
        if act in ("begin", "chain"):
            self.open = self.seen = True
        elif act in ("commit", "rollback", "commits", "on"):
            self.open = False
        elif act not in ("off", "none", "release"):
            self.open = self.open or not self.autocommit
        if act in ("on", "off"):
            self.autocommit, self.seen = act == "on", True


@dataclass
class Selection:
    """Over all sessions of a capture. records: count what is left out; notes: by what they count."""

    dialect: statements.Dialect
    records: Records = field(default_factory=Records)
    notes: Counter[str] = field(default_factory=Counter[str])
    read_only: bool = True
    writing_sessions: int = 0

    def session(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """The statements to execute, in order. A transaction comes whole, or not at all."""
        wrote = False
        for transaction, unfinished in self._transactions(entries):
            for entry in self._whole(transaction, unfinished):
                wrote = wrote or self._facts(entry).writes
                yield entry
        self.writing_sessions += wrote

    def _transactions(self, entries: Iterable[Entry]) -> Iterator[tuple[_Transaction, str]]:
        """Each with why it is left out. Without a begin, one has the statements up to a Sync.

        https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
        """
        state = _State()
        transaction: _Transaction = []
        prepares = False
        for entry in entries:
            if transaction and not state.open and (not entry.xact or entry.xact != transaction[-1].xact):
                yield transaction, ""
                transaction = []
            found = self._facts(entry)
            prepares = prepares or found.prepares
            if "release" in found.acts and not prepares:
                self.records.leave(_RELEASED, entry.place)
                if not (text := statements.without_releases(entry.sql, self.dialect)):
                    continue
                entry = replace(entry, sql=text)
                found = self._facts(entry)
            if not state.open and not state.seen and {*found.acts} in ({"commit"}, {"rollback"}):
                self.records.leave(f"{found.acts[0]}s {_WITHOUT_BEGIN}", entry.place)
                continue
            acts = ("rollback",) if entry.flaw == UNDOING else found.acts
            # a begin that failed begins none
            for act in acts if not entry.flaw or acts != ("begin",) else ():
                state.step(act)
            transaction.append(entry)
        yield transaction, _UNFINISHED if state.open else ""

    def _whole(self, entries: _Transaction, unfinished: str) -> _Transaction:
        """Of a transaction, or of several, each begun by the end of the one before.

        A transaction is left out whole, but for its begin and its end beside others. unfinished: why the last
        one is left out; '' where it ended.
        """
        parts: list[_Transaction] = [[]]
        for entry in entries:
            acts = self._facts(entry).acts
            # in MariaDB a begin commits what is open
            if self.dialect == "mysql" and "begin" in acts and parts[-1]:
                parts.append([])
            parts[-1].append(entry)
            if "chain" in acts:
                parts.append([])
        kept: _Transaction = []
        parts = [part for part in parts if part]
        for number, part in enumerate(parts, start=1):
            reason = unfinished if number == len(parts) else ""
            if self._failed(part):
                reason = _FAILED_TRANSACTION
            for entry in part:
                found, flaw = self._facts(entry), self._flaw(entry)
                if reason and (len(parts) == 1 or not found.control):
                    flaw = flaw or reason
                if flaw:
                    self.records.leave(flaw, entry.place)
                else:
                    self._note(found)
                    kept.append(entry)
        return kept

    def _failed(self, transaction: _Transaction) -> bool:
        """Whether the server undid it.

        PostgreSQL: it had an error, and did not roll back to a savepoint after that. MariaDB: it was the
        victim of a deadlock, or could not be committed. https://dev.mysql.com/doc/refman/8.4/en/innodb-error-handling.html
        """
        failed, undoes = False, FAILED if self.dialect == "postgresql" else UNDOING
        for entry in transaction:
            flaw = self._flaw(entry)
            failed = (failed or flaw == undoes) and (bool(flaw) or "to" not in self._facts(entry).acts)
        return failed

    def _facts(self, entry: Entry) -> statements.Facts:
        return statements.facts(statements.bare(entry.sql), self.dialect)

    def _flaw(self, entry: Entry) -> str:
        found = self._facts(entry)
        if entry.flaw:
            return entry.flaw
        if found.copies:
            return COPIED
        if len(entry.sql) > statements.LONGEST_CHARACTERS:
            return _LONG
        if found.broken:
            return CUT if entry.sql.strip() else _EMPTY
        if found.chooses:
            return _CHOICES
        try:
            "".join((entry.sql, *filter(None, entry.values))).encode()
        except UnicodeEncodeError:
            return _ENCODING
        return ""

    def _note(self, found: statements.Facts) -> None:
        self.read_only = self.read_only and found.reads
        noted = {
            SERVER_VALUES: found.server_values,
            GIVES: found.gives,
            STATE: found.state,
            WRITES: found.writes,
            BATCHES: found.several,
            _CALLS: found.calls and self.dialect == "mysql",
        }
        self.notes.update(name for name, is_so in noted.items() if is_so)


# each class that is measured needs a histogram of 100 KB per thread of the load engine
_TEXT_CLASSES_MAX = 64
_CLASSES_MAX = 512
# in memory, until the capture has ended
_TEXTS_MAX = 20_000
_OTHERS = "other statements"
_NAME_CHARACTERS_MAX = 60

_Takes = Literal["text", "parsed-text", "values", "text-values"]
_TAKES: Mapping[str, _Takes] = {"text": "text", "parsed": "parsed-text", "values": "values"}


@dataclass
class _Class:
    """sql: of the first execution. values: the most that one has. varies: some have another text."""

    number: int
    takes: _Takes
    sql: str
    name: str
    values: int = 0
    executions: int = 0
    captured_us: int = 0
    varies: bool = False


@dataclass
class Classes:
    """The classes of a capture, numbered as they come; `ranked` orders and merges them."""

    dialect: statements.Dialect
    _found: dict[tuple[str, str], _Class] = field(default_factory=dict[tuple[str, str], _Class])

    def number(self, entry: Entry) -> int:
        """The number of the entry's class, which counts it."""
        name = self._normalised(statements.bare(entry.sql))
        if (entry.how, name) not in self._found and len(self._found) >= _TEXTS_MAX:
            name = _OTHERS
        new = _Class(len(self._found), _TAKES[entry.how], entry.sql, name)
        found = self._found.setdefault((entry.how, name), new)
        found.values = max(found.values, len(entry.values))
        found.varies = found.varies or entry.sql != found.sql
        found.executions += 1
        found.captured_us += entry.took_us or 0
        return found.number

    @cached_property
    def _normalised(self) -> Callable[[str], str]:
        return lru_cache(maxsize=4096)(partial(statements.normalised, dialect=self.dialect))

    def ranked(self) -> tuple[list[CapturedClass], dict[int, int]]:
        """The classes, those with most time first, and the final number by the one that they had.

        Texts that vary, and beyond the 64 of these with most time, are measured together; of texts that are
        prepared once, those beyond 512.
        """
        ranked = sorted(self._found.values(), key=lambda one: (-one.captured_us, -one.executions, one.sql))
        for one in ranked:
            if one.takes == "values" and one.varies:
                one.takes = "text-values"
        texts = [one for one in ranked if one.takes != "values"][:_TEXT_CLASSES_MAX]
        prepared = [one for one in ranked if one.takes == "values"][:_CLASSES_MAX]
        own = {one.number for one in (*texts, *prepared)}
        groups = [[one] for one in ranked if one.number in own]
        for how in _TAKES:
            rest = [one for (given, _), one in self._found.items() if given == how and one.number not in own]
            for one in rest:
                one.takes = "text-values" if how == "values" else one.takes
            if rest:
                groups.append(rest)
        names = Counter[str]()
        classes = [self._captured(group, names) for group in groups]
        return classes, {one.number: number for number, group in enumerate(groups) for one in group}

    def _captured(self, group: Sequence[_Class], names: Counter[str]) -> CapturedClass:
        first = group[0]
        sql = first.name if len(group) == 1 else _OTHERS
        name = " ".join(sql.split())
        if len(name) > _NAME_CHARACTERS_MAX:
            name = name[: _NAME_CHARACTERS_MAX - 1].rstrip() + "…"
        names[name] += 1
        # the load engine's results have rows called `transaction` of their own
        if names[name] > 1 or name.startswith("transaction"):
            name = f"{name} ({names[name]})"
        return CapturedClass(
            name=name,
            sql=first.sql if first.takes == "values" else sql,
            takes=first.takes,
            count=max(one.values for one in group),
            executions=sum(one.executions for one in group),
            captured_us=sum(one.captured_us for one in group),
        )
