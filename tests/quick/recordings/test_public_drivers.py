"""Logs of load drivers in the shape of public reports that once gave a wrong figure in silence."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from recorded_cases import codes, figures, of_text, pgbench, placed, series, work, written

from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Judgement
from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError
from steelyard.recordings import registry
from steelyard.recordings.importing import import_files, write_recording
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source
from steelyard.report.presented.ranking import shown_at

_SAMPLES = "timeStamp,elapsed,label,threadName,success{}\n{}"
_PROGRESS = (
    "[ {}s ] thds: {} tps: {}.00 qps: 0.00 (r/w/o: 0.00/0.00/0.00) lat (ms,95%): 9.00 err/s: 0.00"
    " reconn/s: 0.00\n"
)
_POINT = (
    '{{"metric": "http_req_duration", "type": "Point", "data": {{"time": "2026-10-06T10:00:0{}Z",'
    ' "value": 10.0, "tags": {{"metric": "login", "status": "200"}}}}}}\n'
)
_ORDERS = "[Summary] NEW_ORDER - Takes(s): 60.0, Count: 600, TPM: 600.0, Sum(ms): 6000.0, Avg(ms): 10.0\n"
_BENCHBASE = (
    '{"Benchmark Type": "tpcc", "Throughput (requests/second)": 10.0, "Goodput (requests/second)": 10.0,'
    ' "Measured Requests": 600, "Elapsed Time (nanoseconds)": 60000000000, "terminals": "1",'
    ' "Latency Distribution": {"Average Latency (microseconds)": 45000}, "Final State": "ERROR"}'
)


def only(folder: Path, text: str, name: str = "a.txt") -> Report:
    (found,), _ = of_text(folder, text, name)
    return found


@pytest.mark.parametrize(
    ("begins", "took", "seconds", "mean_ms"),
    [
        ((1_662_749_136_019, 1_662_749_136_020), (0.412, 0.388), 0.001388, 0.4),
        # other tools write seconds
        ((1_662_749_136, 1_662_749_139), (170, 30), 3.03, 100),
    ],
)
def test_samples_of_jmeter_keep_their_fractions_and_may_begin_at_seconds(
    tmp_path: Path, begins: tuple[int, int], took: tuple[float, float], seconds: float, mean_ms: float
) -> None:
    rows = "".join(f"{begin},{ms},get,T 1-1,true\n" for begin, ms in zip(begins, took, strict=True))
    report = only(tmp_path, _SAMPLES.format("", rows), "a.jtl")
    assert report.seconds == pytest.approx(seconds) and report.began and report.began.year == 2022
    assert report.rows["clients"][0]["mean_ns"] == pytest.approx(mean_ms * 1e6)


def test_names_of_jmeter_s_variables_may_be_quoted(tmp_path: Path) -> None:
    report = only(
        tmp_path, _SAMPLES.format(',"request_id"', '1662749136019,5,get,T 1-1,true,"r-1"\n'), "a.jtl"
    )
    assert work(report)[:2] == (1, 0)


def test_what_an_old_pgbench_did_not_try_is_said(tmp_path: Path) -> None:
    text = pgbench().replace("processed: 6000", "processed: 6000/8000")
    aborted = "client 3 aborted in state 8: ERROR:  deadlock detected\n"
    assert codes(only(tmp_path, text)) == {"source-warns"}
    assert codes(only(tmp_path, text + "number of failed transactions: 2000 (25.000%)\n")) == set()
    assert codes(only(tmp_path, aborted + pgbench())) == {"source-warns"}


def test_new_orders_of_hammerdb_are_transactions(tmp_path: Path) -> None:
    text = "Vuser 1:TEST RESULT : System achieved {} NOPM from {} Oracle TPM\n"
    assert "does-not-foot" in codes(only(tmp_path, text.format(27975, 0)))
    assert "does-not-foot" not in codes(only(tmp_path, text.format(27975, 64000)))


def test_workers_of_go_tpc_are_clients_where_it_tells_them(tmp_path: Path) -> None:
    report = only(tmp_path, f"Finished: 50 OLTP workers, 1 OLAP workers\n{_ORDERS}tpmC: 600.0\n")
    assert work(report) == (600, 0, 60.0, 50)


def test_an_error_of_benchbase_is_said(tmp_path: Path) -> None:
    assert codes(only(tmp_path, _BENCHBASE, "a.summary.json")) == {"source-warns"}
    assert codes(only(tmp_path, _BENCHBASE.replace("ERROR", "EXIT"), "a.summary.json")) == set()


def test_a_tag_of_k6_may_be_named_metric(tmp_path: Path) -> None:
    assert work(only(tmp_path, "".join(map(_POINT.format, range(5))), "a.json"))[0] == 5


def test_progress_that_begins_again_is_another_run(tmp_path: Path) -> None:
    text = "".join(_PROGRESS.format(s, n, tps) for n, tps in ((8, 100), (16, 150)) for s in (10, 20))
    runs = placed(written(tmp_path, {"a.txt": text}))
    assert [figures(run.reports[0])["tps_of_progress"] for run in runs] == [100, 150]


def test_progress_beside_another_driver_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="both drove load"):
        placed(written(tmp_path, {"a.txt": pgbench(), "b.txt": _PROGRESS.format(10, 8, 100)}))


@pytest.mark.parametrize("name", ["clients", "threads"])
def test_load_points_in_folders_of_their_own_are_one_run(tmp_path: Path, name: str) -> None:
    texts = {f"{o}/{name}-{n}/a.txt": pgbench(900 * n + len(o), n) for o in ("A", "BB") for n in (8, 16, 32)}
    found = placed(written(tmp_path, texts))
    assert [[point[0].clients for point in run.points] for run in found] == [[8, 16, 32]] * 2


def test_a_run_of_two_options_is_refused(tmp_path: Path) -> None:
    written(tmp_path, {"a.txt": pgbench(), "b.txt": pgbench(7000)})
    given = [f"A={tmp_path}/*.txt", f"B={tmp_path}/b.txt"]
    with pytest.raises(InputError, match="a run of A and of B"):
        import_files([], given, False, lambda _, __: None)


def test_another_workload_of_another_option_is_said(tmp_path: Path) -> None:
    other = pgbench(7000, kind="<builtin: TPC-B (sort of)>")
    first, second = placed(written(tmp_path, {"A/a.txt": pgbench(), "B/b.txt": other}))
    assert "workload-differs" not in codes(first.reports[0])
    assert "workload-differs" in codes(second.reports[0])


def judged(folder: Path) -> Judgement:
    write_recording(import_files([str(folder)], [], True, lambda _, __: None), folder / "out", "a test")
    return judge(Bundle(folder / "out").evidence())


def test_runs_without_a_number_of_clients_are_said(tmp_path: Path) -> None:
    texts = {f"{count}.txt": _ORDERS.replace("600", f"{count}") for count in (600, 660)}
    assert "clients-unknown" in {notice.code for notice in judged(written(tmp_path, texts)).notices}


def test_options_compare_at_the_load_points_that_both_have(tmp_path: Path) -> None:
    """One option was measured at 32 clients too: no mean holds them."""
    rates = {"A": {8: 1000, 16: 2000, 32: 9000}, "B": {8: 2000, 16: 4000}}
    texts = {f"{o}/{n}.txt": pgbench(done, n) for o, of in rates.items() for n, done in of.items()}
    found = judged(written(tmp_path, texts))
    (ratio,) = (c.ratio for c in found.comparisons if (c.metric, c.clients) == ("throughput_per_s", None))
    assert ratio == pytest.approx(2)
    assert shown_at(found) == (None, [8, 16])


def test_options_without_a_common_load_point_are_shown_at_one(tmp_path: Path) -> None:
    texts = {f"A/{n}.txt": pgbench(1000 * n, n) for n in (8, 16)} | {"B/a.txt": pgbench(9000, 32)}
    found = judged(written(tmp_path, texts))
    assert shown_at(found) == (32, [32])
    assert not found.comparisons


@pytest.mark.parametrize("text", [" " * 65_000, "\n" * 65_000, "\n".join([" " * 2000] * 32)])
def test_formats_are_looked_for_in_a_text_without_long_blanks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Where a pattern tried each of 65,000 blanks as its beginning, it took 38 s."""
    heads: list[str] = []
    monkeypatch.setattr(registry, "known_formats", lambda: {"x": SimpleNamespace(sniff=heads.append)})
    (tmp_path / "a.txt").write_text(text)
    assert registry.formats_of(Source(tmp_path / "a.txt")) == []
    assert heads == ["\n"]


def test_a_script_whose_name_has_braces_is_a_workload(tmp_path: Path) -> None:
    texts = {f"{n}.txt": pgbench(6000 + n, kind=f"/tmp/{{{n}}}.sql") for n in (1, 2)}
    with pytest.raises(InputError, match="another workload than"):
        placed(written(tmp_path, texts))


def test_a_percentile_at_the_end_of_a_histogram_is_no_figure(tmp_path: Path) -> None:
    first, later = (_PROGRESS.format(second, 56, 43) for second in (93, 94))
    # one script prints no colon
    progress = first + later.replace("err/s: 0", "err/s 1").replace(": 9.00", ": 100000.00")
    alone = series(only(tmp_path, f"sysbench 1.0.20\nDB SCHEMA public\n{progress}"))
    assert alone["sysbench", "tps"] == [(93, 43), (94, 43)]
    assert alone["sysbench", "errors_per_s"] == [(93, 0), (94, 1)]
    assert alone["sysbench", "p95_ms"] == [(93, 9)]
    latencies = "         max:       119990.31\n         95th percentile:       {}\n"
    counts = "    transactions:    1440 (12.00 per sec.)\n    total time:      120.0000s\n"
    whole = f"sysbench 1.1.0\nNumber of threads: 4000\n{counts}"
    (report,), source = of_text(tmp_path, whole + latencies.format("100000.00"))
    assert work(report) == (1440, 0, 120, 4000) and "p95" not in figures(report)
    assert [text for _, text in source.skipped.lines] == ["95th percentile:       100000.00"]
    assert figures(only(tmp_path, whole + latencies.format("99998.10")))["p95"] == 99998.1


def test_a_latency_at_the_end_of_go_tpc_s_histogram_is_no_reading(tmp_path: Path) -> None:
    line = _ORDERS.replace("\n", ", 99th(ms): 8053.1, Max(ms): 16106.1\n")
    found = series(only(tmp_path, f"{line}tpmC: 600.0\n"))
    assert [metric for _, metric in found if "ms" in metric] == ["sum_ms", "avg_ms", "99th_ms"]
