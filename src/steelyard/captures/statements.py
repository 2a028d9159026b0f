"""Texts of SQL without their values; facts that decide whether, and how faithfully, one can be replayed."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from steelyard import sql_text
from steelyard.sql_text import Token

Dialect = Literal["postgresql", "mysql"]

# a text of 50 MiB would take minutes and 10 GB
LONGEST_CHARACTERS = 4 << 20
_TRACED = re.compile(r"([^'\"`#$/-]*(?:\$\d[^'\"`#$/-]*)*)/\*(?![+!M])[^*]*(?:\*(?!/)[^*]*)*\*/\s*$")
# comments that the server, or an extension of it, reads
_HINTS = ("/*+", "/*!", "/*M!")
_LIST = re.compile(r"\( ?\?(?: ?, ?\?)+ ?\)")
_ROWS = re.compile(r"(values \([^()]*\))(?: ?, ?\([^()]*\))+")
_BEFORE_A_SIGN = re.compile(
    r"(?:^|[=<>(,+*/%|]|\b(?:and|or|then|else|when|limit|between|in|select|values|set)) ?$"
)


def tokens(sql: str, dialect: Dialect) -> Iterator[Token]:
    """The pieces of the text, in order; a text that is too long is broken."""
    if len(sql) > LONGEST_CHARACTERS:
        return iter([Token("broken", sql)])
    return sql_text.tokens(sql, dialect)


def bare(sql: str) -> str:
    """The text without a comment at its end, which tracing puts there, if no quote or comment is before it.

    Executions that differ in it alone are then read once.
    """
    found = _TRACED.match(sql)
    return found[1] if found else sql


def normalised(sql: str, dialect: Dialect) -> str:
    """The text without values and comments: literals and parameters as `?`, lists as one, in lower case.

    What two executions of one statement of an application have in common.
    """
    pieces: list[str] = []
    for token in tokens(sql, dialect):
        if token.kind in ("space", "comment") and not token.text.startswith(_HINTS):
            if pieces and pieces[-1] != " ":
                pieces.append(" ")
        elif token.kind in ("text", "number", "parameter"):
            # a sign is of the number that follows it
            if pieces[-1:] in (["-"], ["+"]) and _BEFORE_A_SIGN.search("".join(pieces[-3:-1])):
                pieces.pop()
            pieces.append("?")
        else:
            pieces.append(token.text.lower() if token.kind == "word" else token.text)
    text = "".join(pieces).strip().rstrip(";").rstrip()
    return _ROWS.sub(r"\1", _LIST.sub("(?)", text))


_RELEASES = ("deallocate", "discard")
_READS = ("select", "with", "show", "explain", "values", "table", "desc", "describe", "use", "fetch")
_CONTROL = ("begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release")
_WRITES = ("insert", "update", "delete", "merge", "replace", "truncate", "call", "do", "copy", "load")
_SERVER_VALUES = re.compile(
    "now|current_timestamp|current_date|current_time|localtimestamp|localtime|clock_timestamp"
    "|statement_timestamp|transaction_timestamp|timeofday|random|uuid|gen_random_uuid|uuid_generate_v4|uuidv7"
    "|nextval|currval|lastval|txid_current|pg_backend_pid|pg_current_xact_id|rand|sysdate|curdate|curtime"
    "|unix_timestamp|utc_timestamp|connection_id|last_insert_id|uuid_short"
)
# what a statement does to its transaction, by its words but `work` and `transaction`
_ACTS = re.compile(
    r"""
    (?P<begin> (?: begin | xa\ (?:start|begin) | start\ (?:with|read|isolation) | start$ )\b )
    | (?P<chain> (?:commit|end|rollback|abort)\ and\ chain\b )
    | (?P<to> (?:rollback|abort)\ to\b )
    | (?P<rollback> (?:rollback|abort)\b (?!.*\ prepared\b) )
    | (?P<commit> (?:commit|end)\b (?!.*\ prepared\b) )
    | set\b (?:.*\ ,)? (?:\ (?:@@)?(?:session|local))? \ (?:@@)?autocommit
        \ (?: (?P<on> (?:1|on|true|default)(?:\ |$) ) | (?P<off>\S) )
    # of MySQL; any session commits what one has prepared
    | (?P<commits> xa\ (?:prepare|commit|rollback)\b )
    | (?P<release> (?:deallocate|discard)\b )
    """,
    re.VERBOSE | re.DOTALL,
)
# of MariaDB: they commit the transaction that is open, and begin none
# https://mariadb.com/docs/server/reference/sql-statements/transactions/sql-statements-that-cause-an-implicit-commit
_COMMITS = re.compile(
    "alter|analyze|cache|change|check|create|drop|flush|grant|optimize|rename|repair|reset|revoke|start|stop"
    "|truncate|lock|unlock"
)
# they read no table: without autocommit, none of them begins a transaction
_BEGINS_NONE = ("set", "use", "show", "prepare", "deallocate")
_STATE = {"set", "reset", "prepare", "deallocate", "listen", "discard", "lock", "use", "declare"}


@dataclass(frozen=True)
class Facts:
    """Of one text, which may have several statements.

    acts: what each of its statements does to its transaction: `begin`, `commit`, `rollback`, `chain` (ends
    one and begins the next), `on` and `off` of autocommit, `commits` (an implicit commit), `release` of what
    was prepared, `to` (a savepoint), `none` (needs no transaction), or ''. server_values: it
    takes values that the server makes, so other ones each time. gives: its result has values that the server
    made, which later statements may contain. state: it changes its session. prepares: it prepares statements.
    chooses: another database. calls: a procedure.
    """

    broken: bool
    copies: bool
    reads: bool
    writes: bool
    server_values: bool
    gives: bool
    state: bool
    several: bool
    prepares: bool
    chooses: bool
    calls: bool
    acts: tuple[str, ...]
    parameters: int

    @property
    def control(self) -> bool:
        """Whether it begins or ends a transaction."""
        return bool({"begin", "commit", "rollback", "chain"} & {*self.acts})


@lru_cache(maxsize=4096)
def facts(sql: str, dialect: Dialect) -> Facts:
    """What the words of the text say."""
    found = [token for token in tokens(sql, dialect) if token.kind not in ("space", "comment")]
    words = {token.text.lower() for token in found if token.kind == "word"}
    parts = [part for part in _parts(found) if part]
    firsts = [_first(part) for part in parts]
    acts = tuple(_act(part, dialect) for part in parts)
    reads = {*firsts} <= {*_READS, *_CONTROL, "set"}
    writes = bool(words & {*_WRITES, "into"}) or ("for" in words and bool(words & {"update", "share"}))
    return Facts(
        broken=any(token.kind == "broken" for token in found) or not parts,
        copies="copy" in firsts or "load" in firsts,
        reads=reads and not writes and not words & {"nextval", "setval"},
        writes=writes or not reads,
        server_values=any(map(_SERVER_VALUES.fullmatch, words)),
        gives="returning" in words or bool(words & {"nextval", "currval", "lastval", "last_insert_id"}),
        state=any(first in _STATE for first in firsts) or {"create", "temporary"} <= words,
        several=len(parts) > 1,
        prepares="prepare" in firsts and "commit" not in acts,
        chooses=firsts == ["use"],
        calls="call" in firsts,
        acts=acts,
        parameters=len({token.text for token in found if token.kind == "parameter"}),
    )


def without_releases(sql: str, dialect: Dialect) -> str:
    """The text without its statements that release prepared ones; '' where there is no other."""
    kept = [part for part in _parts(tokens(sql, dialect)) if _first(part) not in _RELEASES]
    return ";".join("".join(token.text for token in part) for part in kept).strip()


def _parts(found: Iterable[Token]) -> Iterator[list[Token]]:
    part: list[Token] = []
    for token in found:
        if token.text == ";":
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _first(part: Sequence[Token]) -> str:
    return next((token.text.lower() for token in part if token.kind == "word"), "")


def _act(part: Sequence[Token], dialect: Dialect) -> str:
    """https://www.postgresql.org/docs/current/sql-commands.html, and MariaDB's "Transactions"."""
    # without signs, and without those of a comment that MariaDB executes
    words = [token.text.lower() for token in part if token.kind != "other" or token.text == ","]
    first, *rest = [word for word in words if word not in ("work", "transaction")] or [""]
    if words[:2] == ["prepare", "transaction"]:
        return "commit"
    if found := _ACTS.match(" ".join((first, *rest))):
        return found.lastgroup or ""
    if dialect == "mysql" and _COMMITS.fullmatch(first) and "temporary" not in rest:
        return "commits"
    return "none" if first in _BEGINS_NONE else ""
