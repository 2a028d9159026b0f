"""Logs of PostgreSQL as sessions of statements: small logs written by hand, damaged ones, made-up ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres_logs import as_csv, record

from steelyard.captures.entry import CUT_VALUES, FAILED, FETCHED, INCOMPLETE, NO_VALUES, Entry, Records
from steelyard.captures.formats import csvlog, jsonlog
from steelyard.captures.formats.registry import format_of
from steelyard.errors import InputError

S = 10**6


def as_json(records: Sequence[dict[str, str]]) -> str:
    return "".join(json.dumps({k: v for k, v in one.items() if v}) + "\n" for one in records)


def read(text: str, folder: Path, name: str) -> tuple[list[Entry], Counter[str]]:
    file = folder / f"log.{name}"
    file.write_text(text, encoding="utf-8", newline="")
    records = Records()
    return list((csvlog if name == "csv" else jsonlog).read(file, records)), records.left_out


def read_both(records: Sequence[dict[str, str]], folder: Path) -> tuple[list[Entry], Counter[str]]:
    """What both formats give, which is the same."""
    found, left_out = read(as_csv(records), folder, "csv")
    other, of_json = read(as_json(records), folder, "json")
    assert [replace(one, place="") for one in found] == [replace(one, place="") for one in other]
    assert left_out == of_json
    return found, left_out


def facts(entries: Sequence[Entry]) -> list[tuple[int, int | None, str, str, tuple[str | None, ...]]]:
    first = min(entry.begin_us for entry in entries)
    return [(one.begin_us - first, one.took_us, one.sql, one.how, one.values) for one in entries]


def test_a_statement_with_its_duration_began_before_its_record(tmp_path: Path) -> None:
    found, left_out = read_both(
        [
            record(1, "duration: 250.000 ms  statement: select 'a', E'\\n',\n 1"),
            record(1.1, "duration: 0.010 ms  parse <unnamed>: select $1"),
            record(1.1, "duration: 0.010 ms  bind <unnamed>: select $1"),
            record(
                1.1,
                "duration: 100.000 ms  execute <unnamed>: select $1, $2",
                detail="parameters: $1 = 'it''s, $2 = ', $2 = NULL",
            ),
            record(2, "duration: 1.000 ms  execute S_1/C_2: commit"),
        ],
        tmp_path,
    )
    assert facts(found) == [
        (0, 250_000, "select 'a', E'\\n',\n 1", "text", ()),
        (250_000, 100_000, "select $1, $2", "values", ("it's, $2 = ", None)),
        (1_249_000, 1000, "commit", "parsed", ()),
    ]
    assert not left_out


def test_a_duration_of_its_own_line_belongs_to_the_statement_before_it_in_its_session(tmp_path: Path) -> None:
    found, _ = read_both(
        [
            record(1, "statement: select 1"),
            record(1.1, "execute a: select $1", detail="Parameters: $1 = '5'", session_id="t"),
            record(1.2, "duration: 150.000 ms"),
            record(1.3, "duration: 190.000 ms", session_id="t"),
            record(2, "statement: select 2"),
        ],
        tmp_path,
    )
    assert facts(found) == [
        (0, 150_000, "select 1", "text", ()),
        (100_000, 190_000, "select $1", "values", ("5",)),
        (1 * S, None, "select 2", "text", ()),
    ]


def test_what_cannot_be_executed_again_says_why(tmp_path: Path) -> None:
    found, left_out = read_both(
        [
            record(1, "statement: select broken"),
            record(1, "no such column", error_severity="ERROR", statement="select broken"),
            record(2, "duplicate key", error_severity="ERROR", statement="insert into t values (1)"),
            record(3, "duration: 1 ms  execute a: select $1"),
            record(4, "duration: 1 ms  execute a: select $1", detail="parameters: $1 = 'long...'"),
            record(5, "duration: 1 ms  execute fetch from a/C_1: select 1"),
            record(6, "checkpoint starting: time"),
        ],
        tmp_path,
    )
    assert [(one.sql, one.flaw) for one in found] == [
        ("select broken", FAILED),
        ("insert into t values (1)", FAILED),
        ("select $1", NO_VALUES),
        ("select $1", CUT_VALUES),
        ("select 1", FETCHED),
    ]
    assert not left_out


@pytest.mark.parametrize("name", ["csv", "json"])
def test_a_file_that_ends_within_a_record_gives_the_records_before_it(tmp_path: Path, name: str) -> None:
    text = (as_csv if name == "csv" else as_json)(
        [record(n, f"duration: 1 ms  statement: select '{n}'\n, 2") for n in range(3)]
    )
    for cut in range(len(text) - 2, len(text) - 40, -7):
        found, left_out = read(text[:cut], tmp_path, name)
        assert len(found) in (2, 3)
        assert left_out[INCOMPLETE] == 3 - len(found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("csv", as_csv([record(1, "x")]) + "a,b\n" + as_csv([record(1, "x")])),
        ("csv", as_csv([record(1, "x"), {**record(1, "statement: select 1"), "timestamp": "soon"}]) * 2),
        ("json", as_json([record(1, "x")]) + "[1]\n"),
        ("json", as_json([record(1, "x")]) + '{"timestamp": 3, "message": "statement: x"}\n'),
        ("json", as_json([record(1, "x")]) + "{{\n"),
    ],
)
def test_a_damaged_record_is_named_by_its_line(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(InputError, match=r"log\.(csv|json):2: no record"):
        read(text, tmp_path, name)


@settings(max_examples=60, deadline=None)
@given(text=st.binary(max_size=300), cut=st.integers(0, 600), name=st.sampled_from(["csv", "json"]))
def test_bytes_of_any_kind_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, cut: int, name: str
) -> None:
    good = (as_csv if name == "csv" else as_json)([record(1, "duration: 1 ms  statement: select 1")]).encode()
    file = tmp_path_factory.mktemp("log") / "log"
    file.write_bytes(good + text + good[:cut])
    try:
        entries = list((csvlog if name == "csv" else jsonlog).read(file, Records()))
    except InputError:
        return
    assert entries[:1] == [] or entries[0].sql.startswith("select 1")


VALUES = st.lists(st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))


@given(values=VALUES.filter(lambda found: not any(v and v.endswith("...") for v in found)))
def test_bound_values_come_back_as_they_were_logged(
    tmp_path_factory: pytest.TempPathFactory, values: list[str | None]
) -> None:
    def quoted(value: str | None) -> str:
        return "NULL" if value is None else "'" + value.replace("'", "''") + "'"

    detail = "parameters: " + ", ".join(f"${n} = {quoted(v)}" for n, v in enumerate(values, start=1))
    records = [record(1, "duration: 1 ms  execute a: select 1", detail=detail if values else "")]
    found, _ = read(as_json(records), tmp_path_factory.mktemp("log"), "json")
    assert found[0].values == tuple(values)


def test_the_format_of_a_file_is_known_by_its_beginning(tmp_path: Path) -> None:
    for name, text, format_ in [
        ("a", as_csv([record(1, "x")]), csvlog),
        ("b", as_json([record(1, "x")]), jsonlog),
    ]:
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert format_of(tmp_path / name) is format_
    (tmp_path / "c").write_text("select 1;\n", encoding="utf-8")
    with pytest.raises(InputError, match="no captured traffic"):
        format_of(tmp_path / "c")
    with pytest.raises(InputError, match="No such file"):
        format_of(tmp_path / "d")
