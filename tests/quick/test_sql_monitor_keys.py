"""Monitors by SQL: keys that are refused before anything starts, and counters that fall."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import InputError
from steelyard.monitors.sql.monitor import Growth
from steelyard.workflow.prepare import PreparedStudy

STUDY = """
name = "own"
question = "What does it count?"
subject.kind = "{kind}"
workload = {{ kind = "lookup", rows = 10 }}
{lines}
"""


def refusal(folder: Path, kind: str, lines: str) -> str:
    with pytest.raises(InputError) as refused:
        PreparedStudy.of(STUDY.format(kind=kind, lines=lines), str(folder / "study.toml"))
    return f"{refused.value} {refused.value.hint}"


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ("[monitors.own]\nset = 'oracle-latch'", 'no set "oracle-latch"; did you mean "oracle-latches"?'),
        ("[monitors.own]\nsq = 'select 1'", 'monitors.own.sq: unknown key "sq"; did you mean "sql"?'),
        ("[monitors.own]\nsql = 'select 1'", "counters or gauges is needed"),
        ("[monitors.own]\ncounters = ['x']", "the query is needed"),
        ("[monitors.own]\nset = 'postgres-wal'\nby = 'x'", "monitors.own.by: has no effect: set is given"),
        ("[monitors.own]\nsql = 'select 1'\ncounters = ['X']", "invalid column"),
        ("[monitors.own]\nsql = 'select 1'\ngauges = ['x_total']", "belongs to a counter"),
        ("[monitors.own]\nsql = 'select 1'\ncounters = ['x']\ngauges = ['x']", "x stands in two places"),
        ("[monitors.own]\nsql = 'select 1'\ncounters = ['gets']\nlatches = true", "names a latch is needed"),
        ("[monitors.own]\nsql_file = 'no.sql'\ncounters = ['x']", "no such file"),
        ("[monitors.own]\nsql = 'select 1'\ncounters = ['x']\nevery_s = 0", "greater than or equal to 0.01"),
        ("[monitors.engine]\nsql = 'select 1'\ncounters = ['x']", "a name of steelyard's own"),
        ("[monitors.postgres]\nsql = 'select 1'\ncounters = ['x']", "a name of steelyard's own"),
        ("[monitors]\nown = 'x'", "should be a valid number"),
    ],
)
def test_wrong_keys_are_errors_with_file_and_line(tmp_path: Path, lines: str, cause: str) -> None:
    said = refusal(tmp_path, "postgres", lines)
    assert cause in said and "study.toml:" in said


def test_a_subject_without_sql_connections_refuses_them(tmp_path: Path) -> None:
    said = refusal(tmp_path, "sqlite", "[monitors.own]\nsql = 'select 1 as x'\ngauges = ['x']")
    assert "SQLite takes no monitors by SQL" in said


def test_a_counter_that_was_null_or_fell_never_invents_growth() -> None:
    growth = Growth()
    key = ("series", "column")
    assert [growth.value(key, read) for read in (5, 7, None, 9, 2, 4)] == [5, 7, None, 9, 9, 11]
    assert list(growth.remarks()) == [
        "column fell in 1 reading (a restart, a reset, or entries that were evicted): what it counted"
        " meanwhile is missing from its rate"
    ]
    late = Growth()
    assert [late.value(key, read) for read in (None, 1e9, 1e9 + 3)] == [None, 0, 3]
