"""Folders, options and appended outputs of public reports that once were read as another thing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from recorded_cases import codes, figures, of_text, pgbench, placed, series, written

from steelyard.errors import InputError
from steelyard.recordings.importing import import_files
from steelyard.recordings.report import PlacedRun


def log(clients: range, begin: int = 1_700_000_000) -> str:
    return "".join(f"{c} {n} 900 0 {begin + n} 5000\n" for n in range(20) for c in clients)


def clients(runs: Sequence[PlacedRun]) -> list[int | None]:
    return [run.points[0][0].clients for run in runs]


def test_names_that_give_one_code_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no letter or digit of ASCII"):
        placed(written(tmp_path / "a", {"до/1.txt": pgbench(), "после/1.txt": pgbench(7000)}))
    metrics = 'metrics = [{ column = "tps", metric = "x", unit = "1/s" }]'
    table = f'[[tables]]\nfile = "r.csv"\noption = "o"\n{metrics}\n'
    rows = "o,tps\npostgresql-16-shared-buffers-1GB,100\npostgresql-16-shared-buffers-8GB,200\n"
    with pytest.raises(InputError, match="are one option, postgresql-16"):
        placed(written(tmp_path, {"r.csv": rows, "s.toml": table}) / "s.toml", folders=False)


def test_options_below_blocks_are_refused_and_folders_of_one_run_are_not(tmp_path: Path) -> None:
    texts = {
        f"run-{n}/{name}/a.txt": pgbench(6000 + 100 * n + len(name)) for n in (1, 2) for name in ("my", "pgs")
    }
    with pytest.raises(InputError, match="my, pgs stand below blocks"):
        placed(written(tmp_path / "x", texts))
    vmstat = "procs ---memory--- cpu\n r b swpd free buff cache si so bi bo in cs us sy id wa st\n"
    row = " 1 0 0 800 10 400 0 0 1 0 100 1000 10 0 90 0 0\n"
    texts = {f"block-{n}/pgbench.txt": pgbench(6000 + n) for n in (1, 2)}
    texts |= {f"block-{n}/monitor/v.txt": vmstat + row * 3 for n in (1, 2)}
    runs = placed(written(tmp_path / "res", texts))
    assert [(run.option, run.block, len(run.reports)) for run in runs] == [("res", 1, 2), ("res", 2, 2)]


def test_one_script_in_two_folders_is_one_workload(tmp_path: Path) -> None:
    texts = {f"{n}.txt": pgbench(6000 + n, kind=f"/tmp/{n}/own.sql") for n in (1, 2)}
    assert len(placed(written(tmp_path, texts))) == 2


def test_the_first_of_two_choices_counts(tmp_path: Path) -> None:
    choices = (
        '[[choices]]\nfiles = "a.*"\nformat = "drivers/pgbench"\n[[choices]]\nfiles = "*.*"\nformat = "x"\n'
    )
    texts = {"a.txt": pgbench(), "s.toml": f'[options.A]\nfiles = ["a.txt"]\n{choices}'}
    assert len(placed(written(tmp_path, texts) / "s.toml", folders=False)) == 1


def test_folders_above_an_option_say_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path / "users1" / "run-3", {"res/A/a.txt": pgbench(), "res/B/a.txt": pgbench(7000)})
    runs = placed(folder / "res")
    assert [(run.option, run.block) for run in runs] == [("A", 1), ("B", 1)] and clients(runs) == [4, 4]


def test_what_a_file_states_comes_before_its_folder_and_a_log_after_it(tmp_path: Path) -> None:
    """A folder of load points alone is below its option."""
    folder = written(
        tmp_path, {"A/clients-16/a.txt": pgbench(clients=32), "B/clients-16/b.log": log(range(3))}
    )
    (stated,), (seen,) = placed(folder / "A"), placed(folder / "B")
    assert (stated.option, seen.option, clients([stated, seen])) == ("A", "B", [32, 16])


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (pgbench(7000, kind="<builtin: TPC-B (sort of)>"), "another workload than"),
        (pgbench(), "the same run as in"),
    ],
)
def test_two_workloads_in_an_option_and_a_run_read_twice_are_refused(
    tmp_path: Path, other: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        placed(written(tmp_path, {"a.txt": pgbench(), "b.txt": other}))


def test_a_packed_copy_is_the_same_run(tmp_path: Path) -> None:
    (written(tmp_path, {"a.txt": pgbench()}) / "a.txt.gz").write_bytes(gzip.compress(pgbench().encode()))
    with pytest.raises(InputError, match="the same run as in"):
        placed(tmp_path / "a.txt", tmp_path / "a.txt.gz", folders=False)


@pytest.mark.parametrize("end", ["", ".txt", ".gz"])
def test_logs_of_threads_are_one_run_whatever_their_end(tmp_path: Path, end: str) -> None:
    for name, of in (("pgbench_log.4711", range(2)), ("pgbench_log.4711.1", range(2, 4))):
        data = log(of).encode()
        (tmp_path / (name + end)).write_bytes(gzip.compress(data) if end == ".gz" else data)
    (run,) = placed(tmp_path)
    work = run.points[0][0].work
    assert clients([run]) == [4] and work is not None and work.transactions == 80


def test_a_prefix_that_ends_with_a_number_makes_no_threads(tmp_path: Path) -> None:
    texts = {"pgbench_log.2.4711": log(range(2)), "pgbench_log.2.5822": log(range(2), 1_700_001_000)}
    assert clients(placed(written(tmp_path, texts))) == [2, 2]


def test_two_load_generators_at_one_time_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="overlaps with"):
        placed(written(tmp_path, {"pgbench_log.1": log(range(2)), "pgbench_log.2": log(range(3))}))


_BANNER = "Linux 5.4.0 ({}) \t{} \t_x86_64_\t(4 CPU)\n\n"
_DB1 = _BANNER.format("db1", "11/27/2025")
_MPSTAT = "10:00:0{} CPU %usr %nice %sys %idle\n10:00:01 all 50.00 0.00 10.00 40.00\n\n"
_CPU = "avg-cpu: %user %nice %system %iowait %steal %idle\n {}.00 0.00 0.00 0.00 0.00 {}.00\n\n"


def test_two_hosts_of_two_tools_are_refused(tmp_path: Path) -> None:
    iostat = _BANNER.format("client7", "11/27/2025") + _CPU.format(10, 90)
    with pytest.raises(InputError, match="two hosts together: client7, db1"):
        placed(written(tmp_path, {"A/i.txt": iostat, "A/m.txt": _DB1 + _MPSTAT.format(0)}))


def test_every_choice_that_fits_counts_and_one_that_fits_nothing_is_refused(tmp_path: Path) -> None:
    written(tmp_path, {"l.4711": log(range(2))})
    first = '[options.A]\nfiles = ["l.*"]\n[[choices]]\nfiles = "l.*"\nformat = "drivers/pgbench_log"\n'
    schedule = tmp_path / "s.toml"
    schedule.write_text(f'{first}[[choices]]\nfiles = "l.4711"\nahead_s = 3600\n')
    (run,) = placed(schedule, folders=False)
    assert run.began is not None and run.began.timestamp() == pytest.approx(1_700_000_000 - 3600, abs=1)
    schedule.write_text(f'{first}[[choices]]\nfiles = "l.4712"\nahead_s = 3600\n')
    with pytest.raises(InputError, match="no file matches"):
        placed(schedule, folders=False)


def test_a_second_output_of_iostat_far_down_a_file_counts_since_the_boot_again(tmp_path: Path) -> None:
    devices = (
        "Device tps kB_read/s kB_wrtn/s\n" + "".join(f"sd{d} 5.0 10.0 10.0\n" for d in "abcdefgh") + "\n"
    )
    run = _DB1 + _CPU.format(1, 99) + devices + (_CPU.format(50, 50) + devices) * 400
    assert len(run) > 1 << 16
    (placed_run,) = placed(written(tmp_path, {"iostat.txt": run * 2}) / "iostat.txt", folders=False)
    shares = [one for report in placed_run.reports for one in report.samples.values_of("user_percent")]
    assert len(shares) == 800 and set(shares) == {50.0}


def test_days_of_sar_in_one_file_have_their_own_dates(tmp_path: Path) -> None:
    rows = "".join(f"{t // 60:02}:{t % 60:02}:01 all 10.00 5.00 0.00 85.00\n" for t in range(1, 1440))
    heading = "00:00:01 CPU %user %system %iowait %idle\n"
    text = "".join(_BANNER.format("db1", date) + heading + rows for date in ("11/26/2025", "11/27/2025"))
    (run,) = placed(written(tmp_path, {"sar.txt": text}) / "sar.txt", folders=False)
    assert [str(report.began) for report in run.reports] == ["2025-11-26 00:00:01", "2025-11-27 00:00:01"]


def test_a_pause_of_vmstat_is_a_start(tmp_path: Path) -> None:
    def run(hour: int) -> str:
        row = f" 1 0 0 800 10 400 0 0 1 0 {{}} 1000 {{}} 0 {{}} 0 0 2026-03-31 {hour}:{{:02}}:{{:02}}\n"
        head = "procs ---memory--- cpu\n r b swpd free buff cache si so bi bo in cs us sy id wa st UTC\n"
        rows = (row.format(9, 80, 20, s // 60, s % 60) for s in range(1, 61))
        return head + row.format(100 * hour, 2 * hour, 100 - 2 * hour, 0, 0) + "".join(rows)

    (report,), _ = of_text(tmp_path, run(10) + run(14))
    assert figures(report)["cpu_busy_vmstat"] == 80 and len(report.samples.values_of("us_percent")) == 120


def test_a_banner_of_an_old_sysstat_divides_too(tmp_path: Path) -> None:
    run = "Linux 2.6.18-194.el5 (db1) \t11/15/2012\n\n" + _CPU.format(2, 98) + _CPU.format(80, 20)
    (placed_run,) = placed(written(tmp_path, {"iostat.txt": run * 2}) / "iostat.txt", folders=False)
    assert [figures(one)["cpu_busy_iostat"] for one in placed_run.reports] == [80, 80]


def test_readings_of_one_time_count_since_the_boot(tmp_path: Path) -> None:
    for first, said in ((1, True), (0, False)):
        (report,), _ = of_text(tmp_path, _DB1 + _MPSTAT.format(first))
        assert ("since-boot" in codes(report)) == said


def test_a_rate_below_zero_is_no_rate(tmp_path: Path) -> None:
    """pidstat prints -1 for a process that it may not look into."""
    text = (
        "10:00:00 UID PID kB_rd/s kB_wr/s kB_ccwr/s iodelay Command\n"
        "10:00:01 0 783 -1.00 -1.00 -1.00 0 nginx\n10:00:01 26 900 0.00 12.00 0.00 2 postgres\n"
    )
    (report,), _ = of_text(tmp_path, _DB1 + text)
    assert series(report)["pid 900 postgres", "kb_wr_per_s"] == [(1, 12)]
    assert not [metric for entity, metric in series(report) if "783" in entity and "kb" in metric]


def test_disks_that_sar_does_not_list_are_idle(tmp_path: Path) -> None:
    rows = "".join(
        f"10:0{m}:00 sda 10.00 1.00\n" + f"10:0{m}:00 sdb 100.00 50.00\n" * (m == 2) for m in range(1, 5)
    )
    (report,), _ = of_text(tmp_path, f"{_DB1}10:00:00 DEV tps %util\n{rows}")
    assert report.samples.means()["dev sdb", "tps"] == 25
    records = [
        {
            "timestamp": {"date": "2026-03-01", "time": f"10:0{m}:00", "utc": 1, "interval": 60},
            "disk": [{"disk-device": name, "tps": 100.0} for name in ("sda", "sdb")[: 2 if m == 2 else 1]],
        }
        for m in range(1, 5)
    ]
    host = {"nodename": "db1", "number-of-cpus": 4, "statistics": records}
    (report,), _ = of_text(tmp_path, json.dumps({"sysstat": {"hosts": [host]}}, indent=1), "sa.json")
    assert report.samples.means()["disk-device sdb", "disk_tps"] == 25


def test_a_record_of_sadf_without_an_interval_is_left_out(tmp_path: Path) -> None:
    def record(minute: int, interval: int, idle: float) -> dict[str, object]:
        stamp = {"date": "2026-03-01", "time": f"10:0{minute}:00", "utc": 1, "interval": interval}
        return {"timestamp": stamp, "cpu-load": [{"cpu": "all", "user": 100 - idle, "idle": idle}]}

    records = [record(0, 184467440737095516, 100), record(1, 60, 50)]
    text = json.dumps({"sysstat": {"hosts": [{"nodename": "db1", "statistics": records}]}}, indent=1)
    (report,), _ = of_text(tmp_path, text, "sa.json")
    assert figures(report)["cpu_busy_sar"] == 50 and "left-out" in codes(report)


def test_a_comment_of_sar_is_no_heading(tmp_path: Path) -> None:
    text = "10:00:00 runq-sz plist-sz\n10:00:10 1 500\n10:00:15 COM start of the load\n10:00:20 3 500\n"
    (report,), source = of_text(tmp_path, _DB1 + text)
    assert series(report)["host", "runq_sz"] == [(10, 1), (20, 3)] and source.skipped.count == 1


def test_options_that_each_name_a_block_keep_it(tmp_path: Path) -> None:
    folder = written(tmp_path, {"block-2/p/a.txt": pgbench(), "block-3/t/b.txt": pgbench(7000)})
    options = [f"P={folder}/block-2/p/*", f"T={folder}/block-3/t/*"]
    runs = import_files([], options, False, lambda path, share: None).runs
    assert [(run.option, run.block) for run in runs] == [("P", 2), ("T", 3)]


def test_disks_of_sar_that_take_turns_are_idle_meanwhile(tmp_path: Path) -> None:
    rows = "".join(f"10:0{m}:00 {('sda', 'sdb')[m % 2]} 30.00 10.00\n" for m in range(1, 5))
    (report,), _ = of_text(tmp_path, f"{_DB1}10:00:00 DEV tps %util\n{rows}")
    assert (report.samples.means()["dev sda", "tps"], report.samples.means()["dev sdb", "tps"]) == (15, 15)


def test_a_steady_load_of_vmstat_is_no_restart(tmp_path: Path) -> None:
    head = "procs ---memory--- cpu\n r b swpd free buff cache si so bi bo in cs us sy id wa st\n"
    row = " 1 0 0 800 10 400 0 0 1 2 {} {} 30 10 60 0 0\n"
    rows = [row.format(5000, 9000), *(row.format(5000 + n % 7 * 60 + 60, 9000) for n in range(1, 84))]
    text = "".join(head + "".join(rows[n : n + 21]) for n in range(0, 84, 21))
    (report,), _ = of_text(tmp_path, text)
    assert len(report.samples.values_of("us_percent")) == 83
