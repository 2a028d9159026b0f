"""pg_stat_statements as a mix: its statements by how often they were called, with values from elsewhere.

Its texts have `$1` where values were, and such a text cannot be executed: the values come from logs of the
same load, or from a file of the user; what has none is left out and named.
https://www.postgresql.org/docs/current/pgstatstatements.html
"""

import csv
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import tomli_w

from steelyard.captures.entry import Entry, Records
from steelyard.captures.formats.registry import format_of
from steelyard.captures.statements import facts, normalised, tokens
from steelyard.errors import InputError
from steelyard.study.source import text_of, toml_of

_VALUES = "values.toml"
_STUDY = "study.toml"
_SUBJECT = 'subject.kind = "postgres"\n'
# of each statement; of more, a random part: a study lists them
_VALUES_MAX = 1000
# a cursor, a savepoint; or hidden
_OF_SESSION = re.compile(r"<|(fetch|move|close|savepoint|release|rollback)\b", re.IGNORECASE)
_COLON = re.compile(r"(?<!:):[A-Za-z_]")
_WITHOUT_VALUES = "statements without values"
# a study has at most 1 MiB
_SQL_CHARACTERS_MAX = 500_000
_TOO_LONG = "texts longer than 500,000 characters"
_NESTED = "statements within functions: who calls these executes them"
_NOT_A_STATEMENT = "texts that are no statement to repeat (transactions, settings, COPY, hidden texts)"

Values = Mapping[str, Mapping[str, Any]]
_Bound = tuple[Any, ...]  # values of one execution
_Seen = Mapping[str, Sequence[_Bound]]  # values of executions, by statement


@dataclass(frozen=True)
class Called:
    """A text of pg_stat_statements. name: q1 for the one called most."""

    name: str
    sql: str
    calls: int

    @property
    def parameters(self) -> int:
        """The number of its values."""
        return facts(self.sql, "postgresql").parameters


def is_mix(path: Path) -> bool:
    """Whether a file is a result of pg_stat_statements: CSV with the columns query and calls."""
    try:
        with path.open("rb") as file:
            names = file.readline(1 << 16).decode(errors="replace").strip().split(",")
    except OSError:
        return False
    return {"query", "calls"} <= {name.strip('"') for name in names}


def write_mix(files: Sequence[Path], folder: Path, values_file: Path | None, database: str = "") -> list[str]:
    """Writes a study that executes the mix; what to say about it. Raises InputError.

    files: results of pg_stat_statements, and logs of the same load. values_file: generators by statement and
    parameter, `[q1]` with `p1 = { kind = "uniform", low = 1, high = 9 }`. database: by the column
    datname or dbid.
    """
    left_out = Counter[str]()
    called = list(_called([file for file in files if is_mix(file)], database, left_out))
    seen = _seen([file for file in files if not is_mix(file)])
    try:
        given = toml_of(text_of(values_file), str(values_file)) if values_file else {}
    except FileNotFoundError:
        raise InputError(f"{values_file}: no such file") from None
    statements: dict[str, Any] = {}
    missing: list[Called] = []
    for one in called:
        generators = _generators(one, given, seen)
        if generators is None:
            missing.append(one)
        else:
            sql = re.sub(r"\$(\d+)", r":p\1", one.sql)
            statements[one.name] = {"sql": sql, "weight": float(one.calls), "parameters": generators}
    if missing:
        left_out[_WITHOUT_VALUES] = len(missing)
    study = {
        "name": "mix",
        "question": "How does this server execute the mix of pg_stat_statements?",
        "workload": {"kind": "sql", "statements": statements},
        "plan": {"clients": [4], "warm_up_s": 2, "measure_s": 5, "blocks": 6},
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if statements:
            (folder / _STUDY).write_text(_SUBJECT + tomli_w.dumps(study), encoding="utf-8")
        if missing:
            (folder / _VALUES).write_text("".join(_asked(missing)), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from None
    return list(_summary(called, statements, missing, left_out, folder))


def _called(files: Sequence[Path], database: str, left_out: Counter[str]) -> Iterator[Called]:
    of = defaultdict[str, Counter[str]](Counter)
    for file in files:
        limit = csv.field_size_limit(1 << 30)
        try:
            with file.open(encoding="utf-8", errors="replace", newline="") as rows:
                for row in csv.DictReader(rows, strict=True):
                    if row.get("toplevel", "t").lower() in ("f", "false"):
                        left_out[_NESTED] += 1
                        continue
                    base = row.get("datname", row.get("dbid", ""))
                    of[base][row["query"].strip().rstrip(";")] += int(row["calls"])
        except (ValueError, TypeError, AttributeError, csv.Error) as error:
            raise InputError(f"{file}: no result of pg_stat_statements: {error}") from None
        finally:
            csv.field_size_limit(limit)
    if database and of.keys() == {""}:
        raise InputError("--database has no effect: the CSV has no column datname or dbid")
    calls = of.get(database) if database or len(of) > 1 else next(iter(of.values()), Counter[str]())
    if calls is None:
        counts = ", ".join(f"{name} ({one.total():,} calls)" for name, one in of.items())
        raise InputError(f"statements of several databases: {counts}", "choose one by --database")
    number = 0
    for sql, count in calls.most_common():
        if len(sql) > _SQL_CHARACTERS_MAX:
            left_out[_TOO_LONG] += 1
            continue
        found = facts(sql, "postgresql")
        odd = found.control or found.state or found.copies or found.broken or _OF_SESSION.match(sql)
        if odd or not (found.reads or found.writes) or _COLON.search(sql):
            left_out[_NOT_A_STATEMENT] += 1
        else:
            number += 1
            yield Called(f"q{number}", sql, count)


def _seen(logs: Iterable[Path]) -> _Seen:
    """Values of the executions in logs, by the text without values; of many, a random part of them (Vitter
    1985, "Random sampling with a reservoir", algorithm R).
    """
    found = defaultdict[str, list[_Bound]](list)
    count = Counter[str]()
    chance = Random(0)
    for file in logs:
        for entry in format_of(file).read(file, Records()):
            text, values = normalised(entry.sql, "postgresql"), () if entry.flaw else _values(entry)
            if not values:
                continue
            count[text] += 1
            if len(known := found[text]) < _VALUES_MAX:
                known.append(values)
            elif (at := chance.randrange(count[text])) < _VALUES_MAX:
                known[at] = values
    return found


def _values(entry: Entry) -> _Bound:
    """Those that stand for $1, $2, ...; none of a text whose literals need more than quotes."""
    if entry.how == "values":
        return () if None in entry.values else entry.values
    literals = [token for token in tokens(entry.sql, "postgresql") if token.kind in ("text", "number")]
    if not all(one.kind == "number" or one.text.startswith("'") for one in literals):
        return ()
    return tuple(
        one.text[1:-1].replace("''", "'")
        if one.kind == "text"
        else int(one.text)
        if one.text.isdigit()
        else one.text
        for one in literals
    )


def _generators(one: Called, given: Values, seen: _Seen) -> dict[str, Any] | None:
    """By parameter; None where values lack."""
    names = [f"p{number}" for number in range(1, one.parameters + 1)]
    own = given.get(one.name, {})
    if set(names) <= own.keys():
        return {name: own[name] for name in names}
    rows = [row for row in seen.get(normalised(one.sql, "postgresql"), ()) if len(row) == len(names)]
    if not rows:
        return None
    columns = zip(*rows, strict=True)
    return {
        name: {"kind": "choice", "values": _weighted(column)}
        for name, column in zip(names, columns, strict=True)
    }


def _weighted(column: Sequence[Any]) -> list[Any]:
    """Each value as often as it was seen, by the greatest common divisor of the counts."""
    counts = Counter(column)
    whole = math.gcd(*counts.values())
    return [value for value, count in counts.items() for _ in range(count // whole)]


def _asked(missing: Sequence[Called]) -> Iterator[str]:
    yield "# generators of values: docs, reference of studies; then capture-load again with --values\n"
    for one in missing:
        yield f"\n# {one.calls:,} calls: {' '.join(one.sql.split())}\n[{one.name}]\n"
        for number in range(1, one.parameters + 1):
            yield f'# p{number} = {{ kind = "uniform", low = 1, high = 100000 }}\n'


def _summary(
    called: Sequence[Called],
    statements: Mapping[str, Any],
    missing: Sequence[Called],
    left_out: Mapping[str, int],
    folder: Path,
) -> Iterator[str]:
    calls = sum(one.calls for one in called) or 1
    share = sum(one.calls for one in called if one.name in statements) / calls
    yield f"pg_stat_statements: {len(statements)} of {len(called)} statements, {share:.1%} of their calls"
    for what, count in left_out.items():
        yield f"left out: {count:,} {what}"
    if lists := sum("/*, ... */" in one.sql for one in called):
        yield f"{lists:,} statements with lists that pg_stat_statements has cut: one value stands for a list"
    if missing:
        yield f"pg_stat_statements has no values: fill in {folder / _VALUES}, and give it by --values"
    if statements:
        yield "differs from what was called: each parameter is drawn for itself; no order, no transactions"
        yield f"next: data_file in {folder / _STUDY}, then steelyard run {folder / _STUDY}"
