"""Reports of which a wrong figure was once read without a word; each with its right one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from layouts import LAYOUTS
from recorded_cases import CASES, figures, series, work

from steelyard.errors import InputError
from steelyard.recordings.registry import reports_in
from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

Read = Callable[[str], list[Report]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a text of which every line is understood."""

    def whole(text: str) -> list[Report]:
        (tmp_path / "report.txt").write_text(text)
        source = Source(tmp_path / "report.txt")
        found = reports_in(source)
        assert source.skipped.count == 0, source.skipped.lines
        return found

    return whole


def shares(report: Report) -> dict[str, float]:
    rows = report.rows["profile"]
    total = sum(row["samples"] for row in rows)
    return {row["stack"]: round(100 * row["samples"] / total, 1) for row in rows}


def event(samples: str, rows: str, columns: str = "Overhead") -> str:
    heading = f"# {columns}  Command  Shared Object      Symbol\n# ......\n#\n"
    return f"# Samples: {samples}\n# Event count (approx.): 16100\n#\n{heading}{rows}\n\n"


ROWS = "    20.00%  postgres  postgres  [.] ExecScan\n    10.00%  postgres  [kernel]  [k] copy_user\n"
SHARES = {"postgres;ExecScan": 20, "postgres;copy_user_[k]": 10, "functions not listed": 70}


@pytest.mark.parametrize("samples", ["2000", "2K", "10M"])
def test_functions_that_perf_report_leaves_out_are_of_the_total(read: Read, samples: str) -> None:
    """As with --percent-limit, or of the first lines alone."""
    (report,) = read(event(f"{samples} of event 'cycles:P'", ROWS))
    assert shares(report) == SHARES


def test_functions_left_out_beside_children_and_samples(read: Read) -> None:
    children = re.sub("(?m)^", "    90.00%", ROWS, count=2)
    (report,) = read(event("2000 of event 'cycles'", children, "Children      Self"))
    assert shares(report) == SHARES
    # 1K is 1,000 to 1,999: by their shares 1,500
    counted = ROWS.replace("20.00%", "20.00%  300").replace("10.00%", "10.00%  150")
    (report,) = read(event("1K of event 'cycles'", counted, "Overhead  Samples"))
    assert shares(report) == SHARES and report.rows["profile"][-1]["samples"] == 1050


def test_rounded_shares_of_perf_report_leave_nothing_out(read: Read) -> None:
    rows = "".join(f"     3.33%  postgres  postgres  [.] f{i}\n" for i in range(30))
    (report,) = read(event("100000 of event 'cycles'", rows))
    assert len(report.rows["profile"]) == 30


GROUP = event(
    "800 of events 'anon group { intel_pt//u, branch-misses:u }'",
    "     0.00%  47.50%     0.00%  47.50%  uname    libc.so      [.] _dl_addr\n",
    "        Children              Self",
)


def test_a_group_of_events_after_an_event_is_left_out(read: Read) -> None:
    children = (
        "    60.00%    60.00%  uname  libc.so  [.] strcmp\n    40.00%    40.00%  uname  [k]  [k] do_exit\n"
    )
    (report,) = read(event("2000 of event 'cycles'", children, "Children      Self") + GROUP)
    assert shares(report) == {"uname;strcmp": 60, "uname;do_exit_[k]": 40}
    assert [code for code, _ in report.notices] == ["event-left-out"]
    with pytest.raises(InputError, match="nothing in this file was understood"):
        read(GROUP)


def test_an_event_without_samples_is_no_profile(read: Read) -> None:
    (report,) = read(event("0  of event 'dummy:HG'", "") + event("2000 of event 'cycles:P'", ROWS))
    assert shares(report) == SHARES and report.facts == {"event": "cycles:P"} and not report.notices


def test_an_event_that_comes_again_is_of_another_run(read: Read) -> None:
    first, second = read(event("2000 of event 'cycles'", ROWS) + event("500 of event 'cycles'", ROWS))
    assert shares(first) == shares(second) == SHARES
    assert [report.rows["profile"][0]["samples"] for report in (first, second)] == [400, 100]


PREFIXES = (
    "hammerdb-1  | ", "2026-03-01T10:01:00.123456789Z ", "Mar 01 10:01:00 bench1 hammerdb[4711]: ",
    "[2026-03-01 10:01:00] ",
)  # fmt: skip


@pytest.mark.parametrize("prefix", PREFIXES)
def test_runs_of_hammerdb_with_a_prefix_are_kept_apart(read: Read, prefix: str) -> None:
    text = (CASES / "hammerdb-loop.txt").read_text()
    plain, found = (read(re.sub(r"(?m)^(?!Type)(?=.)", begin, text)) for begin in ("", prefix))
    assert [work(report) for report in plain] == [work(report) for report in found]
    assert [report.seconds for report in found] == [300, 300, 60]


def test_a_failed_user_of_hammerdb_with_a_prefix_is_said(read: Read) -> None:
    head = "db-1 | Vuser 1:TEST RESULT : System achieved 100 NOPM from 230 MariaDB TPM\n"
    (report,) = read(head + "db-1 | Vuser 3:FINISHED FAILED\n")
    assert ("source-warns", "HammerDB: db-1 | Vuser 3:FINISHED FAILED") in report.notices


def test_summaries_of_go_tpc_alone_are_runs(read: Read) -> None:
    """As of `grep -h Summary`."""
    both = (CASES / "go-tpc-two-runs.txt").read_text().splitlines(keepends=True)
    first, second = read("".join(line for line in both if "Summary" in line))
    assert work(first) == (1800, 0, 60, None) and work(second) == (5400, 0, 60, None)


def test_readings_of_go_tpc_follow_one_another(read: Read) -> None:
    line = "[Current] {} - Takes(s): {}, Count: 5, TPM: {}, Sum(ms): 5000.0, Avg(ms): 1000.0\n"
    took = (
        ("DELIVERY", 7.5),
        ("NEW_ORDER", 10.0),
        ("DELIVERY", 9.0),
        ("NEW_ORDER", 10.0),
        ("NEW_ORDER", 10.0),
    )
    (report,) = read("".join(line.format(of, s, round(300 / s, 1)) for of, s in took))
    found = series(report)
    assert [at for at, _ in found["current NEW_ORDER", "count"]] == [10, 20, 30]
    assert [at for at, _ in found["current DELIVERY", "count"]] == [7.5, 16.5]


def test_the_length_of_k6_is_from_its_first_request_to_its_last(read: Read) -> None:
    point = {"metric": "http_req_duration", "type": "Point", "data": {"value": 250, "tags": None}}
    times = [f"2026-03-01T10:00:0{second}.200000Z" for second in range(1, 6)]
    text = (json.dumps(point).replace('"data": {', f'"data": {{"time": "{at}", ') for at in times)
    (report,) = read("\n".join(text))
    assert report.work is not None and report.work.transactions == 5
    assert report.seconds == pytest.approx(4.25)
    assert str(report.began)[11:23] == "10:00:00.950"


def test_benchbase_without_requests_has_no_latency(read: Read) -> None:
    whole = json.loads((CASES / "benchbase-terminals/tpcc_0.summary.json").read_text())
    whole |= {"Measured Requests": 0, "Throughput (requests/second)": 0.0, "Goodput (requests/second)": 0.0}
    whole["Latency Distribution"] = dict.fromkeys(whole["Latency Distribution"], -1)
    (report,) = read(json.dumps(whole))
    assert figures(report) == {} and work(report)[0] == 0


def test_sysbench_without_an_event_has_no_latency(read: Read) -> None:
    text = next(text for text, format_ in LAYOUTS.items() if format_ == "drivers/sysbench")
    text = re.sub(r"transactions: +\d+ +\(.*? per", "transactions:      0      (0.00 per", text)
    text = re.sub(r"total number of events: +\d+", "total number of events:              0", text)
    text = re.sub(r"min: +[\d.]+", "min:                    18446744073709.55", text)
    (report,) = read(text)
    assert figures(report) == {} and report.work is not None and report.work.transactions == 0


@pytest.mark.parametrize(
    ("line", "metrics"),
    [
        (
            "progress: 2.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed, lag 0.000 ms",
            {"tps", "failed", "lag_ms"},
        ),
        ("progress: 2.0 s, 0.0 tps, lat -nan ms stddev -nan, lag -nan ms", {"tps"}),
        ("progress: 2.0 s, 0.0 tps, lat NaN ms stddev NaN", {"tps"}),
        ("progress: 2.0 s, 1.0 tps, lat 5.1 ms stddev NaN", {"tps", "latency_mean_ms"}),
        ("[ 2s ] thds: 4 eps: 0.00 lat (ms,95%): 0.00", {"tps"}),
    ],
)
def test_a_second_without_a_transaction_has_no_latency(read: Read, line: str, metrics: set[str]) -> None:
    (report,) = read(line + "\n")
    assert {metric for _, metric in series(report)} == metrics


RATES = "tps = {} (including connections establishing)\ntps = {} (excluding connections establishing)\n"


@pytest.mark.parametrize("mark", [":", " ="])
@pytest.mark.parametrize(
    ("planned", "rates", "due"),
    [
        ("duration: 60 s", (200, 230), (12_000, 0, 60, 10)),
        ("duration: 60 s", (200, 206), (12_000, 0, 60, 10)),
        ("number of transactions per client: 1200", (500, 190_000), (12_000, 0, 24, 10)),
    ],
)
def test_connections_of_pgbench_9_are_part_of_the_time(
    read: Read, planned: str, rates: tuple[int, int], due: tuple[int, int, float, int], mark: str
) -> None:
    """-C: each transaction connects."""
    text = f"transaction type: SELECT only\nnumber of clients: 10\n{planned}\nnumber of transactions actually"
    (report,) = read(f"{text} processed: 12000\nlatency average{mark} 0.000 ms\n{RATES.format(*rates)}")
    assert work(report) == due and figures(report) == {} and not report.notices


def test_a_script_or_a_statement_of_pgbench_that_comes_again(read: Read) -> None:
    script = (
        "SQL script {0}: a.sql\n - weight: 1 (targets 50.0% of total)\n"
        " - 500 transactions (50.0% of total, tps = 50.000000)\n - latency average = {0}.000 ms\n"
        " - statement latencies in milliseconds and failures:\n"
        "         0.{0}00           0  SELECT 1;\n         0.{0}50           0  SELECT 1;\n"
    )
    head = "pgbench (16.2)\nnumber of clients: 4\nnumber of transactions actually processed: 1000\n"
    rate = "tps = 100.000000 (without initial connection time)\n"
    (report,) = read(head + rate + script.format(1) + script.format(2))
    assert {entity: [v for _, v in found] for (entity, metric), found in series(report).items()
            if metric == "latency_mean_ms"} == {
        "script 1: a.sql": [1], "1: a.sql: statement SELECT 1;": [0.1],
        "1: a.sql: statement SELECT 1; again": [0.15],
        "script 2: a.sql": [2], "2: a.sql: statement SELECT 1;": [0.2],
        "2: a.sql: statement SELECT 1; again": [0.25],
    }  # fmt: skip


@pytest.mark.parametrize("prefix", ["db-1  | ", "     6\t", "2026-03-01T10:01:00Z "])
def test_lock_stat_with_a_prefix_is_not_understood(read: Read, prefix: str) -> None:
    text = next(text for text, format_ in LAYOUTS.items() if format_ == "kernel/lock_stat")
    with pytest.raises(InputError, match="nothing in this file was understood"):
        read(re.sub("(?m)^", prefix, text))


def test_a_warning_of_lock_stat_is_said(read: Read) -> None:
    text = next(text for text, format_ in LAYOUTS.items() if format_ == "kernel/lock_stat")
    head, _, rest = text.partition("\n")
    warning = "*WARNING* lock debugging disabled!! - possibly due to a lockdep warning"
    (report,) = read(f"{head}\n{warning}\n{rest}")
    said = "lock_stat: all lock debugging disabled: its counts stopped"
    assert report.rows == read(text)[0].rows and ("source-warns", said) in report.notices
