"""Which statements of a session can be executed again, and what a replay of them cannot reproduce."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from steelyard.captures.entry import COPIED, CUT, FAILED, Entry
from steelyard.captures.statements import Facts, facts
from steelyard.captures.tokens import LONGEST_CHARACTERS, Dialect

_FAILED_TRANSACTION = "statements of transactions that failed in the capture"
_UNFINISHED = "statements of transactions that did not end in the capture"
_ENCODING = "statements that are not UTF-8"
_RELEASED = "releases of a driver's prepared statements: a replay has its own"
_LONG = f"statements longer than {LONGEST_CHARACTERS >> 20} MiB"
_EMPTY = "empty statements"
_CHOICES = "choices of a database: a replay has one"
_WITHOUT_BEGIN = "commits and rollbacks without a begin in the capture"

SERVER_VALUES = "statements with values that the server makes (time, sequences, random numbers)"
GIVES = "statements whose result has values of the server, which later ones may contain"
STATE = "statements that change the state of their session"
WRITES = "writes of sessions that ran side by side: their order between sessions is not that of the capture"
BATCHES = "texts of several statements, each measured as one"


@dataclass
class Selection:
    """Counts over all sessions of a capture. left_out, notes: by what they count."""

    dialect: Dialect
    left_out: Counter[str] = field(default_factory=Counter[str])
    notes: Counter[str] = field(default_factory=Counter[str])
    read_only: bool = True
    writing_sessions: int = 0

    def session(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """The statements to execute, in order. A transaction comes whole, or not at all."""
        transaction: list[Entry] | None = None
        autocommit, wrote, prepares = True, False, False
        for entry in entries:
            found = facts(entry.sql, self.dialect)
            prepares = prepares or found.prepares
            if found.releases and not prepares:
                self.left_out[_RELEASED] += 1
                continue
            if transaction is None and not autocommit:
                transaction = []
            if found.autocommit is not None:
                autocommit = found.autocommit
            for control in found.control:
                if control == "begin" and transaction is None:
                    transaction = []
            ends = bool(found.control) and found.control[-1] != "begin"
            if ends and transaction is None and "begin" not in found.control:
                self.left_out[_WITHOUT_BEGIN] += 1
                continue
            if transaction is None:
                kept = self._single(entry, found)
                yield from kept
                wrote = wrote or (bool(kept) and found.writes)
                continue
            transaction.append(entry)
            if ends:
                kept = self._whole(transaction)
                yield from kept
                wrote = wrote or any(facts(one.sql, self.dialect).writes for one in kept)
                transaction = None
        if transaction:
            self.left_out[_UNFINISHED] += len(transaction)
        self.writing_sessions += wrote

    def _single(self, entry: Entry, found: Facts) -> list[Entry]:
        if reason := self._flaw(entry, found):
            self.left_out[reason] += 1
            return []
        self._note(found)
        return [entry]

    def _whole(self, entries: list[Entry]) -> list[Entry]:
        found = [facts(entry.sql, self.dialect) for entry in entries]
        reasons = [self._flaw(entry, one) for entry, one in zip(entries, found, strict=True)]
        # PostgreSQL undoes all of a transaction with an error, but not what came before a savepoint
        undone = FAILED in reasons and not any(one.savepoint for one in found)
        for reason in filter(None, reasons):
            self.left_out[reason] += 1
        if undone and self.dialect == "postgresql":
            self.left_out[_FAILED_TRANSACTION] += len(entries) - sum(map(bool, reasons))
            return []
        kept = [
            (entry, one) for entry, one, reason in zip(entries, found, reasons, strict=True) if not reason
        ]
        for _, one in kept:
            self._note(one)
        return [entry for entry, _ in kept]

    def _flaw(self, entry: Entry, found: Facts) -> str:
        if entry.flaw:
            return entry.flaw
        if found.copies:
            return COPIED
        if len(entry.sql) > LONGEST_CHARACTERS:
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

    def _note(self, found: Facts) -> None:
        self.read_only = self.read_only and found.reads
        noted = {
            SERVER_VALUES: found.server_values,
            GIVES: found.gives,
            STATE: found.state,
            WRITES: found.writes,
            BATCHES: found.several,
        }
        self.notes.update(name for name, is_so in noted.items() if is_so)
