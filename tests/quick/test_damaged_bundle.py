"""Damage to a bundle: what is wrong is named, what is whole is read, and nothing else is answered."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from laboratory import Lab, small_study

from damage import DAMAGES, Trial, make_bundle
from steelyard.analysis.judge import judge
from steelyard.bundle.reader import Bundle
from steelyard.bundle.storage.checksum import seal
from steelyard.bundle.storage.files import Place, readable
from steelyard.bundle.writer import BundleWriter
from steelyard.cli.commands import cli
from steelyard.errors import InputError


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight runs, of two options in four blocks: a block is two runs one after the other."""
    path = tmp_path_factory.mktemp("sound") / "b"
    make_bundle(path)
    return path


@pytest.fixture
def bundle(sound: Path, tmp_path: Path) -> Path:
    """A fresh copy."""
    return Path(shutil.copytree(sound, tmp_path / "b"))


def left_out(path: Path) -> list[str]:
    """What the report says is left out, once it says it to everybody: in the table as well."""
    notices = [n for n in judge(Bundle(path).evidence()).notices if n.code.endswith(("left-out", "missing"))]
    rows = Bundle(path).duckdb.execute("select code, text from notices where run = 0").fetchall()
    assert sorted(rows) == sorted((notice.code, notice.text) for notice in notices)
    return [notice.text for notice in notices]


def used(path: Path) -> list[int]:
    return Bundle(path).evidence().view("runs")["run"].tolist()


def truncated(place: Path) -> None:
    os.truncate(place, place.stat().st_size // 2)


def flipped(place: Path) -> None:
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(content)


def a_folder(place: Path) -> None:
    place.unlink()
    place.mkdir()


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (truncated, "its checksum differs: damaged or edited"),
        (flipped, "its checksum differs: damaged or edited"),
        (Path.unlink, "missing"),
        (a_folder, "not a file"),
    ],
)
def test_a_damaged_table_is_named_and_its_block_does_not_count(
    bundle: Path, damage: Callable[[Path], None], what: str
) -> None:
    damage(bundle / "runs" / "0003" / "latency.parquet")
    assert left_out(bundle) == [
        f"run 3 is left out (runs/0003/latency.parquet: {what}); block 2 does not count"
    ]
    assert used(bundle) == [1, 2, 5, 6, 7, 8]


def test_a_table_of_another_run_is_no_table_of_this_one(bundle: Path) -> None:
    one, other = (bundle / "runs" / run / "throughput.parquet" for run in ("0001", "0008"))
    aside = bundle / "aside"
    for here, there in ((one, aside), (other, one), (aside, other)):
        here.rename(there)
    assert [text.partition(" (")[0] for text in left_out(bundle)] == [
        "run 1 is left out",
        "run 8 is left out",
    ]
    assert used(bundle) == [3, 4, 5, 6]


def test_a_run_without_its_identity_takes_its_block_with_it(bundle: Path) -> None:
    (bundle / "runs" / "0006" / "run.json").write_text("{")
    (text,) = left_out(bundle)
    assert text.startswith("run 6 is left out (runs/0006/run.json: not JSON")
    assert text.endswith("block 3 does not count")
    assert used(bundle) == [1, 2, 3, 4, 7, 8]


def test_a_run_that_is_gone_is_missed_by_its_number(bundle: Path) -> None:
    shutil.rmtree(bundle / "runs" / "0005")
    assert left_out(bundle) == ["run 5 is missing: no folder runs/0005; block 3 does not count"]
    assert used(bundle) == [1, 2, 3, 4, 7, 8]


def test_a_study_whose_last_runs_are_gone_is_not_finished(bundle: Path) -> None:
    for run in ("0006", "0007", "0008"):
        shutil.rmtree(bundle / "runs" / run)
    (notice,) = (n for n in judge(Bundle(bundle).evidence()).notices if n.code == "study-unfinished")
    assert notice.text == "the study is not finished: 2 of 4 planned blocks are whole, 5 of 8 runs count"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("0009", "run 9 is left out (runs/0009/run.json belongs to run 2)"),
        ("0002 copy", "runs/0002 copy is not the folder of a run and is left out"),
        ("00002", "runs/00002 is not the folder of a run and is left out"),
    ],
)
def test_a_copied_run_does_not_count_twice(bundle: Path, name: str, text: str) -> None:
    shutil.copytree(bundle / "runs" / "0002", bundle / "runs" / name)
    assert left_out(bundle) == [text]
    assert used(bundle) == list(range(1, 9))


def test_a_run_of_another_bundle_is_left_out(bundle: Path, tmp_path: Path) -> None:
    make_bundle(tmp_path / "other")
    shutil.copytree(tmp_path / "other" / "runs" / "0004", bundle / "runs" / "0009")
    assert left_out(bundle) == ["run 9 is left out (runs/0009/run.json belongs to another bundle)"]
    shutil.rmtree(bundle / "runs" / "0004")
    (bundle / "runs" / "0009").rename(bundle / "runs" / "0004")
    assert used(bundle) == [1, 2, 5, 6, 7, 8]


def test_a_file_that_is_no_table_is_named_and_the_run_counts(bundle: Path) -> None:
    (bundle / "runs" / "0001" / "extra.parquet").write_bytes(b"x")
    assert left_out(bundle) == ["runs/0001/extra.parquet belongs to no run and is left out"]
    assert used(bundle) == list(range(1, 9))


def test_where_no_run_is_whole_the_error_names_the_files(bundle: Path) -> None:
    for place in bundle.glob("runs/*/phases.parquet"):
        truncated(place)
    with pytest.raises(InputError) as caught:
        Bundle(bundle).evidence()
    assert "runs/0001/phases.parquet: its checksum differs" in str(caught.value)
    assert "resume" in caught.value.hint


def test_of_many_damaged_runs_the_first_are_named_and_the_rest_are_counted(
    bundle: Path, tmp_path: Path
) -> None:
    for number in range(20, 60):
        shutil.copytree(bundle / "runs" / "0001", bundle / "runs" / f"{number:04d}")
    texts = left_out(bundle)
    assert len(texts) == 9
    assert texts[-1] == "32 further files or runs are missing or left out"


@pytest.mark.parametrize("name", ["bundle.json", "environment.json", "study.toml"])
@pytest.mark.parametrize("damage", [truncated, flipped, a_folder, Path.unlink])
def test_a_damaged_file_beside_the_runs_is_an_error_that_names_it(
    bundle: Path, name: str, damage: Callable[[Path], None]
) -> None:
    damage(bundle / name)
    with pytest.raises(InputError, match=name) as caught:
        Bundle(bundle)
    assert caught.value.hint


@pytest.mark.parametrize("name", ["bundle.json", "environment.json"])
def test_another_layout_of_a_json_file_is_no_damage_and_another_value_is(bundle: Path, name: str) -> None:
    content = json.loads((bundle / name).read_text())
    (bundle / name).write_text(json.dumps(dict(reversed(content.items()))))
    assert used(bundle) == list(range(1, 9))
    (bundle / name).write_text(json.dumps({**content, "steelyard": {"version": "9"}}))
    with pytest.raises(InputError, match=f"{name}: its checksum differs from its content"):
        Bundle(bundle)


@pytest.mark.parametrize(
    ("name", "change", "where"),
    [
        ("bundle.json", {"options": "AB"}, "options"),
        ("bundle.json", {"baseline": "C"}, "options"),
        ("bundle.json", {"id": ""}, "id"),
        ("environment.json", {"cpu": []}, "cpu"),
        ("environment.json", {"cpu": {"cores": "two"}}, "cpu.cores"),
        ("environment.json", {"servers": {"A": {"version": 1}}}, "servers.A"),
        ("environment.json", {"placement": {"apart": True}}, "placement.server_cpus"),
    ],
)
def test_a_forged_file_of_another_shape_is_an_error_that_names_the_key(
    bundle: Path, name: str, change: dict[str, Any], where: str
) -> None:
    place = bundle / name
    place.write_text(json.dumps(seal({**json.loads(place.read_text()), **change})))
    with pytest.raises(InputError, match=f"{name}: {where}"):
        Bundle(bundle)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[]", "null", '{"format": 2, "steelyard": "\\ud800"}', "\xff"]
)
def test_what_is_no_json_object_is_no_head(bundle: Path, text: str) -> None:
    (bundle / "bundle.json").write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=r"bundle\.json: not "):
        Bundle(bundle)


def test_sql_and_export_and_compare_say_what_is_left_out(lab: Lab, sound: Path) -> None:
    path = Path(shutil.copytree(sound, lab.bundle))
    flipped(path / "runs" / "0003" / "clients.parquet")
    expected = "run 3 is left out (runs/0003/clients.parquet: its checksum differs"
    asked = lab.run("sql", path, "select count(*) as n from used_runs", "--json")
    assert (asked.returncode, json.loads(asked.stdout)) == (0, [{"n": 6}])
    assert expected in asked.stderr
    exported = lab.run("export", path, lab.folder / "out", "--table", "runs")
    assert exported.returncode == 0
    assert expected in exported.stderr
    compared = lab.run("compare", "--force", path, sound)
    assert compared.returncode == 0, compared.stderr
    assert expected in compared.stdout


@pytest.mark.parametrize("command", ["report", "sql", "export", "compare", "resume"])
def test_every_command_refuses_a_damaged_head_with_exit_code_2(lab: Lab, sound: Path, command: str) -> None:
    path = Path(shutil.copytree(sound, lab.bundle))
    flipped(path / "environment.json")
    more = {"sql": ["select 1"], "export": [lab.folder / "out"], "compare": [sound]}
    done = lab.run(command, path, *more.get(command, []))
    assert done.returncode == 2
    assert "environment.json" in done.stderr
    assert "Traceback" not in done.stderr


_WRITER = """
import sys
from pathlib import Path
from damage import ENVIRONMENT, STUDY, tables_of
from steelyard.bundle.writer import BundleWriter
from steelyard.study.plan import baseline, blocks, options
from steelyard.study.load_study import parse_study
import random
study = parse_study(STUDY.replace("blocks = 4", "blocks = 500"), "study.toml")
found = options(study)
writer = BundleWriter(Path(sys.argv[1]))
for slot in (slot for block in blocks(study, found) for slot in block):
    writer.write_run(writer.next_run(), slot.option.levels, tables_of(slot, random.Random(1)))
"""


def test_kill_9_of_a_writer_leaves_whole_runs_and_a_draft_that_the_next_one_removes(
    sound: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copytree(sound, tmp_path / "b"))
    shutil.rmtree(path / "runs")
    (path / "runs").mkdir()
    paths = os.pathsep.join(filter(None, sys.path))
    for wanted in (2, 5):
        writing = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)], env={**os.environ, "PYTHONPATH": paths}
        )
        deadline = time.monotonic() + 60
        while len(list(path.glob("runs/[0-9]*"))) < wanted or not list(path.glob("runs/.*.draft")):
            assert writing.poll() is None and time.monotonic() < deadline
            time.sleep(0.002)
        writing.send_signal(signal.SIGKILL)
        writing.wait()
        assert Bundle(path).inventory.notices == ()
        count = len(Bundle(path).inventory.runs)
        assert count >= wanted
    writer = BundleWriter(path)
    (path / "runs" / ".0099.draft").mkdir()
    first = {"option": ["A"], "block": [1], "slot": [1], "attempt": [1], "status": ["done"], "cause": [""]}
    writer.write_run(
        writer.next_run(), {"handle": "A"}, {"runs": {**first, "started_at": [""], "seconds": [1.0]}}
    )
    assert not list(path.glob("runs/.*.draft"))


NO_FOLDER = ("n" * 300, "small.toml/b")
READERS = {"resume": [], "report": [], "sql": ["select 1"], "export": ["out"], "compare": ["x"]}


@pytest.mark.parametrize(
    "arguments",
    [
        *(["run", "small.toml", "--bundle", name] for name in NO_FOLDER),
        *([command, name, *more] for command, more in READERS.items() for name in (*NO_FOLDER, "-b")),
    ],
    ids=lambda arguments: " ".join(arguments)[:24],
)
def test_a_name_of_no_bundle_ends_in_a_sentence_a_hint_and_exit_code_2(
    lab: Lab, arguments: list[str]
) -> None:
    small_study(lab.folder)
    done = lab.run(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "hint: " in done.stderr


def test_no_damage_of_any_kind_gives_a_traceback_or_a_silent_other_answer(tmp_path: Path) -> None:
    """One of each kind; tests/slow tries more, and benches/damage.py 10,000."""
    trial = Trial(tmp_path)
    seeds = {random.Random(seed).choice(DAMAGES): seed for seed in range(48)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = {kind: trial.damaged(seed) for kind, seed in seeds.items()}
    assert seeds.keys() == set(DAMAGES)
    assert not {kind: outcome for kind, outcome in outcomes.items() if outcome.kind == "failure"}


@pytest.mark.parametrize("name", ["bundle.json", "environment.json", "study.toml", "runs/0001/run.json"])
@pytest.mark.parametrize("command", [["report"], ["sql"], ["compare", "--force", "BUNDLE"]])
def test_a_file_of_a_terabyte_is_refused_by_its_size(
    sound: Path, tmp_path: Path, name: str, command: list[str]
) -> None:
    bundle = tmp_path / "b"
    shutil.copytree(sound, bundle)
    os.truncate(bundle / name, 1 << 40)
    first, *more = command
    arguments = [first, *(str(sound) if one == "BUNDLE" else one for one in more), str(bundle)]
    done = CliRunner().invoke(cli, arguments)
    text = f"{done.output}{done.exception}"
    assert "larger than 64 MiB" in text and Path(name).name in text, text
    if not name.startswith("runs/"):
        assert isinstance(done.exception, InputError)
        assert "larger than 64 MiB" in str(CliRunner().invoke(cli, ["resume", str(bundle)]).exception)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (["; --"], "No open result set"),
        (["select 1", "--megabytes", "15"], "--megabytes"),
        (["select 'nan'::double as a, ['-inf'::double] as b, {'x': 'nan'::double} as c", "--json"], ""),
        (["select ['nan'::double]::double[1] as a, map{1: 2} as b", "--json"], "[null]"),
    ],
)
def test_odd_queries_have_no_traceback(sound: Path, query: list[str], said: str) -> None:
    done = CliRunner().invoke(cli, ["sql", str(sound), *query])
    assert said in f"{done.output}{done.exception}" and not isinstance(done.exception, AttributeError)
    assert said or done.output == '[{"a": null, "b": [null], "c": {"x": null}}]\n'


@pytest.mark.parametrize("command", ["report", "sql select-1", "compare --force BUNDLE", "export out"])
def test_a_table_of_a_terabyte_is_left_out_by_its_size(bundle: Path, sound: Path, command: str) -> None:
    os.truncate(bundle / "runs/0001/throughput.parquet", 1 << 40)
    first, *more = command.split()
    given = {"BUNDLE": str(sound), "out": str(bundle.with_name("out")), "select-1": "select 1"}
    done = CliRunner().invoke(cli, [first, str(bundle), *(given.get(one, one) for one in more)])
    assert done.exit_code == 0, done.exception
    assert left_out(bundle) == [
        "run 1 is left out (runs/0001/throughput.parquet: larger than 4 GiB: damaged); block 1 does not count"
    ]
    if first == "report":
        assert "larger than 4 GiB" in done.output


def test_a_bundle_of_such_tables_alone_ends_in_a_sentence(bundle: Path) -> None:
    for place in bundle.glob("runs/*/phases.parquet"):
        os.truncate(place, 1 << 40)
    done = CliRunner().invoke(cli, ["report", str(bundle)])
    assert isinstance(done.exception, InputError) and "larger than 4 GiB" in str(done.exception)


def test_a_page_that_has_no_addresses_is_said_not_to_be_written(lab: Lab, sound: Path) -> None:
    command = (
        f"ulimit -v 8000000; exec {sys.executable} -m steelyard.cli report {sound} --html {lab.folder}/r.html"
    )
    done = subprocess.run(["sh", "-c", command], env=dict(os.environ), capture_output=True, text=True)
    assert done.returncode == 1 and "could not be written: Cannot allocate memory" in done.stderr, done.stderr
    assert "ulimit -v" in done.stderr and "throughput" in done.stdout and "report " not in done.stdout


def test_where_memory_is_short_the_limit_is_to_blame_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused, readable(tmp_path, Place(tmp_path)):
        duckdb.execute("set memory_limit = '1MB'; set temp_directory = ''")
        duckdb.execute("select count(*) from (select distinct hash(range) from range(10_000_000))").fetchall()
    duckdb.execute("reset memory_limit")
    assert "ulimit -v" in (refused.value.hint or "") and "copy" not in (refused.value.hint or "")
