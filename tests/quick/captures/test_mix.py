"""pg_stat_statements as a mix with frequencies: values from logs or from the user, else left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from postgres_logs import as_csv, record

from steelyard.captures.mix import is_mix, write_mix
from steelyard.errors import InputError
from steelyard.study.load_study import find_study
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.workloads import work_of

STATISTICS = """\
userid,query,calls,mean_exec_time
10,select * from t where a = $1,900,0.1
10,"update t set b = $1 where a = $2",100,0.2
10,select count(*) from t,50,3
10,begin,1000,0
10,<insufficient privilege>,4,0
10,copy t to stdout,1,9
"""
LOG = as_csv(
    [
        record(1, "duration: 1 ms  statement: select * from t where a = 7"),
        record(2, "duration: 1 ms  statement: SELECT * FROM t WHERE a = 'it''s'"),
        record(3, "duration: 1 ms  execute a: select * from t where a = $1", detail="parameters: $1 = '8'"),
    ]
)


def test_statements_are_weighted_by_calls_and_take_values_from_a_log(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(STATISTICS, encoding="utf-8")
    (tmp_path / "log.csv").write_text(LOG, encoding="utf-8")
    assert is_mix(tmp_path / "s.csv") and not is_mix(tmp_path / "log.csv")
    said = write_mix([tmp_path / "s.csv", tmp_path / "log.csv"], tmp_path / "out", None)
    assert any("2 of 3 statements, 90.5%" in line for line in said)
    assert any("left out: 1 statements without values" in line for line in said)
    workload = find_study(str(tmp_path / "out" / "study.toml"))[0].workload
    assert isinstance(workload, StatementWorkload)
    assert {name: (one.sql, one.weight) for name, one in workload.statements.items()} == {
        "q1": ("select * from t where a = :p1", 900),
        "q3": ("select count(*) from t", 50),
    }
    assert workload.statements["q1"].parameters["p1"].model_dump()["values"] == [7, "it's", "8"]
    assert list(work_of(workload).statements) == ["q1", "q3"]
    asked = (tmp_path / "out" / "values.toml").read_text(encoding="utf-8")
    assert "[q2]" in asked and "# p2 = " in asked


def test_a_long_text_is_taken_and_one_that_no_study_can_hold_is_left_out(tmp_path: Path) -> None:
    long = "".join(f"\"select '{size * 'x'}'\",2\n" for size in (140_000, 600_000))
    (tmp_path / "s.csv").write_text("query,calls\n" + long, encoding="utf-8")
    said = write_mix([tmp_path / "s.csv"], tmp_path / "out", None)
    assert "left out: 1 texts longer than 500,000 characters" in said
    assert len(find_study(str(tmp_path / "out" / "study.toml"))[0].workload.model_dump()["statements"]) == 1


def test_values_of_the_user_complete_the_mix(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(STATISTICS, encoding="utf-8")
    uniform = '{ kind = "uniform", low = 1, high = 9 }'
    values = tmp_path / "values.toml"
    values.write_text(f"q1.p1 = {uniform}\nq2.p1 = {uniform}\nq2.p2 = {uniform}\n", encoding="utf-8")
    said = write_mix([tmp_path / "s.csv"], tmp_path / "out", values)
    assert any("3 of 3 statements, 100.0%" in line for line in said)
    assert len(find_study(str(tmp_path / "out" / "study.toml"))[0].workload.model_dump()["statements"]) == 3
    (tmp_path / "s.csv").write_text("query,calls\nselect 1,many\n", encoding="utf-8")
    with pytest.raises(InputError, match="no result of pg_stat_statements"):
        write_mix([tmp_path / "s.csv"], tmp_path / "out", None)
