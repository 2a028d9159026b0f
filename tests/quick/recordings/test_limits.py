"""Hostile and odd files: each import ends, within limits that can be raised, and says in our words why."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import duckdb
import layouts
import pytest
from click.testing import CliRunner

from steelyard.cli.commands import cli
from steelyard.errors import InputError
from steelyard.recordings import limits
from steelyard.recordings.registry import reports_in
from steelyard.recordings.schedule import FileChoice
from steelyard.recordings.source import Source

TABLE = """
[[tables]]
file = "{name}"
option = "mode"
clients = "users"
metrics = [{{ column = "tps", metric = "throughput", unit = "1/s", better = "higher" }}]
"""
SMALL = "1  0      0 100000  10000 200000    0    0     0     0  100  200  5  5 90  0  0\n"
VMSTAT = "r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"


def refusal(*arguments: str) -> InputError:
    refused = CliRunner().invoke(cli, ["import", *arguments, "--dry-run"])
    assert isinstance(refused.exception, InputError), (refused.output, refused.exception)
    return refused.exception


def schedule_of(folder: Path, name: str) -> str:
    (folder / "schedule.toml").write_text(TABLE.format(name=name))
    return str(folder / "schedule.toml")


def test_a_packed_file_that_unpacks_to_a_hundred_times_its_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what any file may unpack to, here MiB and not tens of them
    monkeypatch.setattr(limits, "_UNPACKED_BYTES", 4 << 20)
    place = tmp_path / "vmstat.txt.gz"
    with gzip.open(place, "wb") as file:
        file.write(VMSTAT.encode())
        # lines of one character are packed to a thousandth
        for _ in range(8):
            file.write((b"x" * 1023 + b"\n") * 1024)
    refused = refusal(str(place))
    assert "unpacks to more than 100 times its size" in str(refused)
    assert refused.hint == "unpack it first: gunzip or unzstd"


@pytest.mark.parametrize("name", ["vmstat.txt", "pgbench_log.1"])
def test_an_import_ends_after_the_minutes_that_it_has(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    rows = "".join(f"{i % 8} {2 + i} {900 + i % 99} 0 1772445600 {i}\n" for i in range(1000))
    place.write_text(VMSTAT + SMALL * 100_000 if name == "vmstat.txt" else rows * 3000)
    refused = refusal(str(place), "--minutes", "0.001")
    assert str(refused) == f"{place}: the import takes longer than 0.001 min"
    assert refused.hint == "--minutes allows it more"


def test_a_sparse_file_of_four_terabytes_is_not_read_to_its_end(tmp_path: Path) -> None:
    place = tmp_path / "vmstat.txt"
    place.write_text(VMSTAT + SMALL)
    os.truncate(place, 4 << 40)
    assert "the import takes longer than 0.005 min" in str(refusal(str(place), "--minutes", "0.005"))
    place.rename(tmp_path / "table.csv")
    assert "table.csv: larger than 4 GiB" in str(refusal(schedule_of(tmp_path, "table.csv")))


def test_a_table_of_many_millions_of_rows_is_refused_at_once(tmp_path: Path) -> None:
    with closing(duckdb.connect()) as connection:
        row = "select 'a' as mode, 1 as users, 5.0 as tps from range(5000000)"
        connection.execute(f"copy ({row}) to '{tmp_path}/rows.parquet' (format parquet)")
    began = time.monotonic()
    assert "more than 1,000,000 rows" in str(refusal(schedule_of(tmp_path, "rows.parquet")))
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rows.csv", "mode,users,tps\na,1,5,6\n", "rows.csv:2: 4 cells, but the first line names 3 columns"),
        ("rows.parquet", "no parquet", "rows.parquet: damaged, or not Parquet"),
        ("rows.jsonl", '{"mode": "a", "users": 1, "tps": 5\n', "rows.jsonl:2: damaged, or not a table"),
    ],
)
def test_errors_of_a_table_are_in_our_words(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    refused = str(refusal(schedule_of(tmp_path, name)))
    assert refused == f"{tmp_path}/{message}"


@pytest.mark.parametrize("rate", ["nan", "inf", "-5", "-inf"])
def test_an_import_in_which_nothing_was_measured_is_refused(tmp_path: Path, rate: str) -> None:
    (tmp_path / "rows.csv").write_text(f"mode,users,tps\na,1,{rate}\nb,2,{rate}\n")
    assert "no row was understood" in str(refusal(schedule_of(tmp_path, "rows.csv")))
    (tmp_path / "series.csv").write_text(f"clients,per_s\n1,{rate}\n")
    assert "no rows" in str(refusal(str(tmp_path / "series.csv")))
    summary = json.loads(
        (Path(__file__).parent / "cases/benchbase-terminals/tpcc_0.summary.json").read_text()
    )
    summary["Goodput (requests/second)"] = float(rate)
    (tmp_path / "b.json").write_text(json.dumps(summary))
    done = CliRunner().invoke(cli, ["import", str(tmp_path / "b.json"), "--dry-run"])
    assert isinstance(done.exception, InputError) or ", no work counted" in done.output


@pytest.mark.parametrize(
    "head",
    ['{"sysstat": {"hosts": [{"statistics": [', '{"Measured Requests": 1, "Goodput (requests/second)": '],
    ids=["sadf", "benchbase"],
)
def test_json_that_is_nested_too_deep_is_refused(tmp_path: Path, head: str) -> None:
    place = tmp_path / "deep.json"
    place.write_text(head + "[" * 100_000 + "]" * 100_000 + "}")
    assert "its JSON is nested too deep" in str(refusal(str(place)))


def endless(place: Path) -> None:
    """A repository of HammerDB whose jobs are a query without an end."""
    with closing(sqlite3.connect(place)) as file:
        numbers = "with recursive n(i) as (select 1 union all select i + 1 from n) select i as jobid from n"
        file.execute(f"create view JOBMAIN as {numbers}")
        file.commit()


def test_a_repository_with_a_view_is_refused(tmp_path: Path) -> None:
    endless(tmp_path / "hammer.DB")
    assert "a view, 'JOBMAIN', where tables are expected" in str(refusal(str(tmp_path / "hammer.DB")))


def read_by(pid: int) -> int:
    """Bytes that a process has read."""
    return int(Path(f"/proc/{pid}/io").read_text().partition("rchar: ")[2].split()[0])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_long_import_can_be_ended(tmp_path: Path, number: int) -> None:
    place = tmp_path / "vmstat.txt"
    place.write_text(VMSTAT + SMALL)
    os.truncate(place, 4 << 40)
    program = "from steelyard.cli import main; main()"
    command = [sys.executable, "-c", program, "import", str(place), "--dry-run"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
        # within the file, and not in the first of its lines
        while one.poll() is None and read_by(one.pid) < 64 << 20:
            time.sleep(0.02)
        assert one.poll() is None
        one.send_signal(number)
        assert one.wait(20) != 0


def k6(seconds: int) -> str:
    point = {"metric": "http_req_duration", "type": "Point"}
    return "".join(
        json.dumps({**point, "data": {"time": f"2026-11-24T10:00:{i:02}Z", "value": 5.0, "tags": {}}}) + "\n"
        for i in range(seconds)
    )


def test_two_drivers_in_one_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "k6.json").write_text(k6(30))
    (tmp_path / "pgbench.txt").write_text((Path(__file__).parent / "cases/pgbench-scripts.txt").read_text())
    refused = str(refusal(str(tmp_path), "--by-folder"))
    assert "drivers/k6 and drivers/pgbench both drove load" in refused


def test_a_format_can_be_said(tmp_path: Path) -> None:
    place = tmp_path / "own.txt"
    rows = VMSTAT + SMALL * 3
    place.write_text("vmstat of our machine\n" * 5000 + rows)
    assert "nothing in this file was understood" in str(refusal(str(place)))
    done = CliRunner().invoke(cli, ["import", str(place), "--format", "system/vmstat", "--dry-run"])
    assert done.exit_code == 0 and "(system/vmstat)" in done.stdout, done.output
    assert 'no format "system/vmstats"' in str(refusal(str(place), "--format", "system/vmstats"))


def test_a_dry_run_lists_every_line_that_is_not_understood(tmp_path: Path) -> None:
    place = tmp_path / "vmstat.txt"
    place.write_text(layouts.VMSTAT + "".join(f"the dog ate {i} rows\n" for i in range(300)))
    shown = CliRunner().invoke(cli, ["import", str(place), "--dry-run"]).stdout
    assert all(f": the dog ate {i} rows\n" in shown for i in range(300))
    done = CliRunner().invoke(cli, ["import", str(place), "-o", str(tmp_path / "out")])
    assert "300 lines not understood, the first 10:" in done.output and "ate 11 rows" not in done.output


def test_with_y_no_first_reading_counts_since_the_boot(tmp_path: Path) -> None:
    rows = (Path(__file__).parent / "cases/iostat-xd.txt").read_text()
    place = tmp_path / "iostat.txt"

    def readings(text: str, since_boot: bool | None = None) -> int:
        place.write_text(text)
        (report,) = reports_in(Source(place, choices=FileChoice(files="", since_boot=since_boot)))
        return len(set(report.samples.at_s.tolist()))

    assert readings(rows) == 2
    assert readings(rows, since_boot=False) == 3
    assert readings(f"### iostat -xd -y 5 3 ###\n{rows}") == 3
    assert readings(f"### iostat -xd 5 3 ###\n{rows}") == 2


def test_a_recording_of_a_monitor_alone_shows_its_means(tmp_path: Path) -> None:
    place = Path(__file__).parent / "cases/pidstat-migrating.txt"
    bundle = tmp_path / "out.bundle"
    done = CliRunner().invoke(cli, ["import", str(place), "-o", str(bundle)])
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(cli, ["report", str(bundle)]).stdout
    assert "pid 4711 postgres CPU" in shown and "50.0 %" in shown
