"""The command capture-load: its files, its messages, and the study that follows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from postgres_logs import as_csv, record

from steelyard.captures.folder import capture, write_folder
from steelyard.cli.commands import cli
from steelyard.errors import InputError
from steelyard.study.workloads.of_files import ReplayWorkload
from steelyard.subjects.in_turns import why_one_after_another
from steelyard.workflow.prepare import PreparedStudy
from steelyard.workloads import work_of
from steelyard.workloads.replay import read_capture, sessions


def log(folder: Path, *texts: str, database: str = "shop") -> Path:
    file = folder / "log.csv"
    records = [
        record(n, f"duration: 1500.000 ms  statement: {text}", dbname=database, session_id=f"s{n % 2}")
        for n, text in enumerate(texts, start=1)
    ]
    file.write_text(as_csv(records), encoding="utf-8")
    return file


def test_capture_load_writes_a_study_that_can_be_planned(tmp_path: Path) -> None:
    texts = ["select 1", "begin", "insert into t values (now())", "select '", "copy t from stdin"]
    out = tmp_path / "out"
    run = CliRunner().invoke(cli, ["capture-load", str(log(tmp_path, *texts)), "-o", str(out)])
    assert run.exit_code == 0, run.output
    assert "PostgreSQL csvlog: 2 statements, 2 classes, 1 session, 1 at one time, 3.5 s" in run.output
    assert "left out: 1 COPY and LOAD DATA" in run.output
    assert "differs in a replay: 1 statements with values that the server makes" in run.output
    assert f"next: steelyard run {out}/study.toml" in run.output
    prepared = PreparedStudy.of((out / "study.toml").read_text(encoding="utf-8"), str(out / "study.toml"))
    assert prepared.study.plan.clients == [1]
    assert "there is one option" in why_one_after_another(prepared.study, prepared.options)
    work = work_of(prepared.study.workload)
    assert not work.read_only
    assert any("left out of the capture" in remark for remark in work.remarks)
    # a study that was changed by hand stays
    (out / "study.toml").write_text("mine", encoding="utf-8")
    write_folder([tmp_path / "log.csv"], out, "")
    assert (out / "study.toml").read_text(encoding="utf-8") == "mine"


def test_a_log_of_several_databases_needs_a_choice(tmp_path: Path) -> None:
    one = log(tmp_path, "select 1")
    two = tmp_path / "two.csv"
    two.write_text(log(tmp_path, "select 2", "select 3", database="bank").read_text("utf-8"), "utf-8")
    one = log(tmp_path, "select 1")
    with pytest.raises(InputError, match=r"bank \(2\), shop \(1\)"):
        write_folder([one, two], tmp_path / "out", "")
    with pytest.raises(InputError, match='no statement of database "none"'):
        write_folder([one, two], tmp_path / "out", "none")
    write_folder([one, two], tmp_path / "out", "bank")
    header = read_capture(tmp_path / "out" / "load.capture")
    assert header.left_out == {"statements of other databases": 1}
    assert [event[2] for one in sessions(tmp_path / "out" / "load.capture") for event in one] == [
        ["select 2"],
        ["select 3"],
    ]


def test_a_log_without_statements_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text(as_csv([record(1, "checkpoint starting: time")]), encoding="utf-8")
    run = CliRunner().invoke(cli, ["capture-load", str(file), "-o", str(tmp_path / "out")])
    assert isinstance(run.exception, InputError)
    assert "no statement to execute" in str(run.exception)
    assert "log_min_duration_statement" in run.exception.hint
    values = CliRunner().invoke(
        cli, ["capture-load", str(log(tmp_path, "select 1")), "-o", str(tmp_path), "--values", "v"]
    )
    assert "needs a CSV of pg_stat_statements" in str(values.exception)


def test_classes_beyond_sixty_four_texts_are_measured_together(tmp_path: Path) -> None:
    texts = [f"select {'a' * n} from t" for n in range(1, 81)]
    write_folder([log(tmp_path, *texts)], tmp_path / "out", "")
    header = read_capture(tmp_path / "out" / "load.capture")
    assert len(header.classes) == 65
    assert header.classes[-1].name == "other statements"
    assert header.classes[-1].executions == 16
    assert len({one.name for one in header.classes}) == 65


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ('handle = "none"', "binds no values"),
        ('pace = "asap"\nspeed = 2', "speed: has no effect: pace is 'asap', not 'original'"),
        ('mix = "deck"', "executes what was captured"),
        ('capture = "gone"', "No such file"),
        ("speed = 0", "greater than or equal"),
    ],
)
def test_keys_without_effect_and_missing_files_are_refused(tmp_path: Path, more: str, cause: str) -> None:
    write_folder([log(tmp_path, "select 1")], tmp_path, "")
    study = (tmp_path / "study.toml").read_text(encoding="utf-8")
    text = study.replace('pace = "original" ', f"{more}\n#", 1)
    if "capture" in more:
        text = text.replace('capture = "load.capture"\n', "", 1)
    with pytest.raises(InputError, match=cause):
        PreparedStudy.of(text, str(tmp_path / "study.toml"))


def test_the_built_in_study_has_its_capture_beside_it() -> None:
    from steelyard.study.load_study import find_study

    workload = find_study("replay-versions")[0].workload
    assert isinstance(workload, ReplayWorkload)
    header = read_capture(Path(workload.capture))
    assert header.duration_s < 8
    assert sum(len(one) for one in sessions(Path(workload.capture))) == header.events


def test_a_statement_too_long_to_read_is_left_out_and_counted(tmp_path: Path) -> None:
    rows = f"insert into t values {'(1),' * (13 << 20)}(1)"
    file = log(tmp_path, "select 1", rows, "select 2")
    run = CliRunner().invoke(cli, ["capture-load", str(file), "-o", str(tmp_path / "out")])
    assert run.exit_code == 0, run.output
    assert ": 2 statements, 1 class" in run.output
    assert "left out: 1 statements longer than 4 MiB" in run.output


def test_a_statement_of_a_million_lines_is_read(tmp_path: Path) -> None:
    head = "261122 23:22:4{}\t     3 Query\tselect {}\n"
    text = head.format(7, 1) + "\n" * 1_000_000 + head.format(9, 2)
    (tmp_path / "general.log").write_text(text)
    header = capture([tmp_path / "general.log"], tmp_path / "c")
    assert header.events == 2


@pytest.mark.parametrize("deep", ["[", '{"a":', '[{"a":'])
def test_json_nested_too_deeply_is_named_by_file_and_line(tmp_path: Path, deep: str) -> None:
    file = tmp_path / "log.json"
    first = json.dumps(record(1, "duration: 1 ms  statement: select 1"))
    file.write_text(f'{first}\n{{"timestamp": {deep * 100_000}\n')
    run = CliRunner().invoke(cli, ["capture-load", str(file), "-o", str(tmp_path / "out")])
    assert isinstance(run.exception, InputError)
    assert str(run.exception).startswith(f"{file}:2: no record of PostgreSQL jsonlog: ")


SLOW = """\
# Time: 261122 10:00:01
# User@Host: a[a] @ localhost []
# Thread_id: 5  Schema: c  QC_hit: No
# Query_time: 0.001  Lock_time: 0.0
SET timestamp={};
select 1;
"""


@pytest.mark.parametrize(
    "text",
    [SLOW.format("9" * 20), json.dumps(record(1, f"duration: {'9' * 400} ms  statement: select 1")) + "\n"],
)
def test_a_time_that_no_clock_shows_is_no_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "log").write_text(text)
    run = CliRunner().invoke(cli, ["capture-load", str(tmp_path / "log"), "-o", str(tmp_path / "out")])
    assert isinstance(run.exception, InputError) and "no statement to execute" in str(run.exception)
