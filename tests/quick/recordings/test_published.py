"""Recordings: published tables become bundles that report, compare and SQL take like any other."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from published import I7, T2, latch, lookups_per_s

from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Judgement
from steelyard.bundle.reader import Bundle
from steelyard.cli.commands import cli
from steelyard.errors import InputError
from steelyard.recordings.importing import write_published
from steelyard.recordings.published import catalogue

NAMES = {T2: "result-cache-t2", I7: "result-cache-i7"}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Bundle]:
    folder = tmp_path_factory.mktemp("recordings")
    for name in NAMES.values():
        write_published(name, folder / name)
    return lambda platform: Bundle(folder / NAMES[platform])


@pytest.fixture(scope="module")
def judged(bundle: Callable[[str], Bundle]) -> Callable[[str], Judgement]:
    found = {platform: judge(bundle(platform).evidence()) for platform in NAMES}
    return lambda platform: found[platform]


@pytest.mark.parametrize("platform", NAMES)
@pytest.mark.parametrize(("access", "code"), [("buffer cache", "BC"), ("result cache", "RC")])
def test_every_published_throughput_comes_back(
    judged: Callable[[str], Judgement], platform: str, access: str, code: str
) -> None:
    (scaling,) = [s for s in judged(platform).scaling if s.option == code]
    clients, per_s = lookups_per_s(platform, access)
    assert [p.clients for p in scaling.points] == clients
    assert [p.throughput_per_s for p in scaling.points] == pytest.approx(per_s, rel=1e-9)


@pytest.mark.parametrize("platform", NAMES)
def test_every_published_latch_counter_comes_back(judged: Callable[[str], Judgement], platform: str) -> None:
    rows = judged(platform).latches
    assert {row.option for row in rows} == {"RC"}
    for column in ("gets", "misses", "sleeps"):
        assert [getattr(row, column) for row in rows] == latch(platform, column)
    assert [row.wait_ns for row in rows] == [1000 * us for us in latch(platform, "wait_time")]
    assert [row.spin_gets for row in rows] == [None] * 12
    assert [row.gets_per_txn for row in rows] == pytest.approx([2.0] * 12, abs=1e-5)


def test_the_i7_at_six_processes(judged: Callable[[str], Judgement]) -> None:
    row = judged(I7).latches[5]
    assert 100 * (row.misses_per_get or 0) == pytest.approx(17.258, abs=5e-4)
    assert 100 * (row.sleeps_per_miss or 0) == pytest.approx(0.00212, abs=5e-6)


@pytest.mark.parametrize("platform", NAMES)
def test_one_block_has_no_interval_and_no_winner(judged: Callable[[str], Judgement], platform: str) -> None:
    verdict = judged(platform).verdict
    assert verdict.winner is None and "one run each has no interval" in verdict.interval


def test_one_block_says_where_the_order_turns(judged: Callable[[str], Judgement]) -> None:
    assert "ahead up to 11, the buffer cache at 12" in judged(T2).verdict.headline
    # of the other machine RC led throughout
    assert "ahead at every number of processes" in judged(I7).verdict.headline


def test_the_example_can_be_imported_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner()
    Path("mine.v2.toml").write_text(run.invoke(cli, ["import", "--example-table"]).stdout)
    written = run.invoke(cli, ["import", "mine.v2.toml"])
    assert written.exit_code == 0, written.output
    assert len(Bundle(Path("dc3-specjbb2005.bundle")).evidence().view("runs")["run"]) == 2
    # what follows the last dot of a name is no suffix
    assert run.invoke(cli, ["import", "kernel-2.5.26"]).exit_code == 0
    assert Path("kernel-2.5.26.bundle").is_dir()


def test_operations_and_jvms_are_called_so(tmp_path: Path) -> None:
    run = CliRunner()
    for name in ("dc3-specjbb2005", "kernel-2.5.26"):
        assert run.invoke(cli, ["import", name, "--to", str(tmp_path / name)]).exit_code == 0
        shown = run.invoke(cli, ["report", str(tmp_path / name)])
        page = (tmp_path / name / "report.html").read_text()
        page = page.partition("<main>")[2].partition('id="charts"')[0]
        assert "TPS" not in shown.output + page
        assert not re.search(r"\b[Cc]lients\b", shown.output + page)
        assert ("6–8 JVMs" in shown.output and "6 to 8 JVMs" in page) is (name == "dc3-specjbb2005")
        assert ("bops" if name == "dc3-specjbb2005" else ">index<") in page


def test_seconds_that_a_recording_does_not_tell_are_null(bundle: Callable[[str], Bundle]) -> None:
    found = bundle(T2).duckdb.execute("select count(*), count(second) from throughput").fetchall()
    assert found == [(24, 0)]
    assert len(bundle(T2).evidence().view("seconds")["run"]) == 0


@pytest.mark.parametrize("platform", NAMES)
def test_the_topology_is_known_to_the_analysis(bundle: Callable[[str], Bundle], platform: str) -> None:
    found = bundle(platform).evidence().topology
    assert (found.cores, found.cpus) == ((8, 64) if platform == T2 else (6, 12))


def test_a_recording_is_reported_on_and_compared_like_a_bundle(tmp_path: Path) -> None:
    run = CliRunner()
    # tests/quick/recordings/test_claims.py has the others
    for name in {*NAMES.values(), *sorted(catalogue())[::4]}:
        written = run.invoke(cli, ["import", name, "--to", str(tmp_path / name)])
        assert written.exit_code == 0, written.output
        shown = run.invoke(cli, ["report", str(tmp_path / name)])
        assert shown.exit_code == 0 and "[no interval]" not in shown.output
        assert (tmp_path / name / "report.html").exists()
    both = [str(tmp_path / name) for name in NAMES.values()]
    compared = run.invoke(cli, ["compare", *both, "--json"])
    assert compared.exit_code == 0, compared.output
    ratios = {(c["option"], c["clients"]): c["ratio"] for c in json.loads(compared.stdout)[0]["comparisons"]}
    assert ratios["RC", 12] == pytest.approx(293830 / 50590, rel=1e-9)


def edited(folder: Path, file: str, old: str, new: str) -> Path:
    """A copy of the T2 recording with one thing changed."""
    for place in catalogue()["result-cache-t2"].parent.iterdir():
        shutil.copy(place, folder)
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    return folder / "result-cache-t2.toml"


ROW = "T2,3,buffer cache,13465"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("result-cache-t2.toml", '"lookups_per_s", metric', '"lookups", metric', 'no column "lookups"; did'),
        ("result-cache-t2.toml", "query =", "select =", r"toml:\d+: tables.0.select: unknown key"),
        ("result-cache-t2.toml", "scaling.csv", "scalling.csv", "scalling.csv: no such file"),
        ("result-cache-t2.toml", "select *, if", "selec *, if", "scaling.csv: query: Parser Error"),
        (
            "result-cache-t2.toml",
            "from rows where",
            "from read_csv('/etc/passwd') where",
            "query: Permission",
        ),
        ("result-cache-t2.toml", 'into = "latches"', 'into = "latch"', r"toml:\d+: tables.1.into"),
        ("result-cache-t2.toml", 'into = "latches"\n', "", "latch.csv: metrics: name its columns"),
        ("result-cache-t2.toml", "as wait_ns", "as wait_us", "wait_us: the table has no such column"),
        (
            "result-cache-t2.toml",
            'source = "',
            'as_if_measured_s = 1\nsource = "',
            r"toml:\d+: as_if_measured_s",
        ),
        ("result-cache-scaling.csv", "platform,", "machine,", 'query: Binder Error: .*"platform" not found'),
        ("result-cache-scaling.csv", ROW, "T2,3,buffer cache", r"scaling.csv:\d+: 3 cells, but .* 4 columns"),
        ("result-cache-scaling.csv", ROW, ROW + ",2", r"scaling.csv:\d+: 5 cells"),
        ("result-cache-scaling.csv", ROW, '"' + "x" * 200_000, "scaling.csv: not CSV"),
        ("result-cache-scaling.csv", ROW, ROW[:-2] + "x", r"csv:\d+: lookups_per_s: not a number: '134x'"),
        ("result-cache-t2.toml", "[workload]", "x = inf\n[workload]", r"toml:\d+: .*x: inf is not a"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_by_name(
    tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    place = edited(tmp_path, file, old, new)
    with pytest.raises(InputError, match=message):
        write_published(str(place), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("result-cache-scaling.csv", ROW, ROW.replace("13465", "1e300"), "beyond 2^53"),
        ("result-cache-scaling.csv", ROW, ROW.replace("13465", "1e-6"), "a length of 7.5e+11 s"),
        ("result-cache-latch.csv", "T2,12,", "T2,13,", "row 12: no result of RC with 13 clients"),
    ],
)
def test_a_row_that_does_not_fit_is_named(tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    written = CliRunner().invoke(
        cli, ["import", str(edited(tmp_path, file, old, new)), "-o", str(tmp_path / "out")]
    )
    assert written.exit_code == 0, written.output
    assert "1 line not understood" in written.stderr and said in written.stderr


def test_an_unknown_recording_names_the_known_ones() -> None:
    with pytest.raises(InputError, match='did you mean "result-cache-t2"'):
        write_published("result-cache-t3", Path("nowhere"))


def test_rates_are_whole_centiseconds_as_the_clock_of_the_source(bundle: Callable[[str], Bundle]) -> None:
    points = bundle(I7).evidence().view("points")
    ticks = np.asarray(points["seconds"], dtype=float) * 100
    assert np.abs(ticks - ticks.round()).max() < 0.01


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("dispatch-ff2", {("STD", 8): 171_250, ("EXT", 8): 170_490}),
        ("dispatch-dc1", {("STD", 16): 308_676, ("EXT", 16): 308_046}),
        ("dispatch-tpce", {("STD", 1): 156.12, ("EXT", 1): 155.64}),
        (
            "dc3-specjbb2005",
            {
                ("default", 6): 244_480, ("default", 7): 266_043, ("default", 8): 283_317,
                ("pset", 6): 383_632, ("pset", 7): 447_450, ("pset", 8): 510_639,
            },
        ),
    ],
)  # fmt: skip
def test_rates_published_alone_come_back(
    tmp_path: Path, name: str, published: dict[tuple[str, int], float]
) -> None:
    write_published(name, tmp_path / name)
    evidence = Bundle(tmp_path / name).evidence()
    option_of = dict(zip(evidence.view("runs")["run"].tolist(), evidence.view("runs")["option"], strict=True))
    points = evidence.view("points")
    per_s = points["transactions"] / points["seconds"]
    clients = points["clients"].tolist()
    found = {
        (str(option_of[run]), n): value
        for run, n, value in zip(points["run"].tolist(), clients, per_s.tolist(), strict=True)
    }
    assert found == pytest.approx(published, rel=1e-4)


def test_loops_of_both_kernel_modes_and_no_comparison_of_their_utilisation(tmp_path: Path) -> None:
    write_published("kernel-modes", tmp_path / "out")
    found = judge(Bundle(tmp_path / "out").evidence())
    compared = {c.metric: c.ratio for c in found.comparisons}
    # 240 loops against 260; threads and engines are used in ways that cannot be compared
    assert compared == {"throughput_per_s": pytest.approx(240 / 260)}
    assert found.verdict.winner is None


def test_the_24_runs_of_the_statement_matrix_and_the_few_figures_of_its_text(tmp_path: Path) -> None:
    study = write_published("statement-matrix", tmp_path / "out")
    found = judge(Bundle(tmp_path / "out").evidence())
    levels = {name: [*factor.levels] for name, factor in study.factors.items()}
    assert levels == {
        "mode": ["T", "P"], "dynamic_prepare": ["DYN1", "DYN0"], "statement_cache": ["ST0", "ST1"],
        "streamlined": ["STR0", "STR1"], "plan_sharing": ["PLA0", "PLA1"],
    }  # fmt: skip
    values = {(e.metric, e.option): e.value for e in found.estimates}
    assert len(found.options) == 24
    requests = {option: value for (metric, option), value in values.items() if "requests" in metric}
    assert requests == {
        f"{mode}_DYN1_ST0_{streamlined}_PLA0": pytest.approx(per_s)
        for mode in "TP"
        for streamlined, per_s in (("STR0", 700), ("STR1", 1400))
    }
    assert found.verdict.winner is None
    assert [n for n in found.notices if n.code == "recording" and "charts without numbers" in n.text]


def test_cpu_load_of_both_kernel_modes_flags_what_does_not_reproduce(tmp_path: Path) -> None:
    write_published("kernel-modes-vm", tmp_path / "out")
    found = judge(Bundle(tmp_path / "out").evidence())
    ratios = {c.metric: c.ratio for c in found.comparisons}
    assert sorted(ratios.values()) == [pytest.approx(32 / 28), pytest.approx(42 / 35)]
    # a share of the CPU is no merit of its own
    assert found.verdict.winner is None


def test_a_table_of_one_server_alone_is_a_recording(tmp_path: Path) -> None:
    table = tmp_path / "Our server 7.csv"
    table.write_text("clients,per_s\n1,955.16\n2,1878.91\n4,3548.68\n")
    run = CliRunner()
    written = run.invoke(cli, ["import", str(table), "--to", str(tmp_path / "bundle")])
    assert written.exit_code == 0, written.output
    evidence = Bundle(tmp_path / "bundle").evidence()
    assert [option.label for option in evidence.options] == ["our-server-7"]
    points = evidence.view("points")
    assert points["clients"].tolist() == [1, 2, 4]
    assert (points["transactions"] / points["seconds"]).tolist() == pytest.approx([955.16, 1878.91, 3548.68])
    shown = run.invoke(cli, ["report", str(tmp_path / "bundle")])
    assert shown.exit_code == 0, shown.output
    assert "needs two" not in shown.output and (tmp_path / "bundle" / "report.html").exists()


def test_a_table_of_one_server_needs_no_factor(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("clients,per_s\n1,10\n2,19\n")
    (tmp_path / "mine.toml").write_text(
        'version = "Server 9 (beta)"\n[options.nine]\nfiles = ["mine.csv"]\n[levels]\nserver.nine = "Nine"\n'
    )
    study = write_published(str(tmp_path / "mine.toml"), tmp_path / "bundle")
    assert {name: dict(factor.levels) for name, factor in study.factors.items()} == {
        "server": {"nine": "Nine"}
    }
    bundle = Bundle(tmp_path / "bundle")
    assert bundle.environment["servers"]["nine"]["version"] == "Server 9 (beta)"
    assert len(judge(bundle.evidence()).scaling) == 1


def test_a_file_of_an_unknown_format_names_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("throughput was fine\n")
    refused = CliRunner().invoke(cli, ["import", str(tmp_path / "notes")])
    assert isinstance(refused.exception, InputError)
    assert 'notes:1: nothing in this file was understood; the first line is "throughput was fine"' in str(
        refused.exception
    )
    (tmp_path / "empty.csv").write_text("clients,per_s\n")
    empty = CliRunner().invoke(cli, ["import", str(tmp_path / "empty.csv")])
    assert re.search(r"empty\.csv: no row", str(empty.exception))


def test_what_is_not_in_the_files_is_not_made_up(tmp_path: Path) -> None:
    run = CliRunner()
    assert run.invoke(cli, ["import", "kernel-modes-vm", "-o", str(tmp_path / "vm")]).exit_code == 0
    assert run.invoke(cli, ["report", str(tmp_path / "vm")]).exit_code == 0
    page = (tmp_path / "vm" / "report.html").read_text().partition("<main>")[2]
    assert "read from 1 file: tables/results" in page
    # one factor of the labels: nobody knows where a level was set, and its codes say all
    assert "<dt>server</dt><dd><code>process</code> · <code>threaded</code></dd>" in page
    assert "not in the files" in page and "process: process" not in page
    assert "from the fastest to the slowest" not in page
