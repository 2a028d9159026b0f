"""A study that asks the kernel: what it finds, what it does not count, and what it does without rights."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from laboratory import Lab, small_study

from steelyard import _core
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.read import bursts
from steelyard.study.load_study import plan_study
from steelyard.study.workloads.threads import ThreadsWorkload

ALL = {"profile_hz": 1, "locks": True, "sched": True, "roots": []}
PROBES = ("--profile", "--locks", "--scheduling-trace")


def run(lab: Lab) -> Bundle:
    study = small_study(lab.folder, blocks=1, measure_s=1, think_ms=0)
    done = lab.run("run", study, "--bundle", lab.bundle, *PROBES)
    assert done.returncode == 0, done.stderr
    return Bundle(lab.bundle)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    if _core.Probe(json.dumps(ALL)).refused:
        pytest.skip("this user may not open perf events of all CPUs: see `steelyard doctor`")
    return run(Lab(tmp_path_factory.mktemp("probed")))


def ask(bundle: Bundle, query: str) -> list[tuple[object, ...]]:
    return bundle.duckdb.execute(query).fetchall()


def test_every_run_has_a_profile_of_server_and_engine(made: Bundle) -> None:
    roles = ask(made, "select run, list(distinct role) from profile group by run order by run")
    assert [run for run, _ in roles] == [1, 2]
    assert all({"server", "engine"} <= set(found) for _, found in roles)  # type: ignore[call-overload]


def test_there_are_no_more_samples_than_the_measure_phase_has_on_all_cpus(made: Bundle) -> None:
    (total,) = ask(made, "select sum(samples) / 2 from profile")[0]
    expected = 99 * (os.cpu_count() or 1) * 1.0
    # a virtual CPU that its host does not run takes no sample, and on a shared host that can be most of them
    assert 0.1 * expected <= float(total) <= 1.03 * expected + 2  # type: ignore[arg-type]


def test_scheduling_is_recorded_after_the_measured_load_and_not_counted_with_it(made: Bundle) -> None:
    phases = ask(made, "select phase, (end_ns - start_ns) / 1e9 from phases where run = 1 order by start_ns")
    names = [phase for phase, _ in phases]
    assert names.index("scheduling-trace") == names.index("measure") + 1
    lengths = dict(phases)
    assert lengths["scheduling-trace"] == pytest.approx(2.0) and lengths["measure"] == pytest.approx(1.0)
    # whole seconds of measure: one
    assert ask(made, "select max(second) from throughput where run = 1") == [(0,)]
    query = (
        "select voluntary > 0, octet_length(run_queue_histogram) > 0 from scheduling where role = 'server'"
    )
    seen = ask(made, query)
    assert seen == [(True, True)] * 2


def test_measured_bursts_become_a_study_of_the_simulated_dispatcher(made: Bundle) -> None:
    label = made.options[0].label
    measured = bursts(made, label)
    assert measured.count > 100 and 1 < measured.burst_us < 1e5 and measured.sleep_us > 1
    # a burst is the CPU time between two waits
    query = "select sum(voluntary) from scheduling join runs using (run) where role = 'server'"
    assert ask(made, f"{query} and option = '{label}'") == [(measured.count,)]
    done = Lab(made.path.parent).run("dispatch", "--bursts", made.path, "--option", label)
    assert done.returncode == 0, done.stderr
    assert f"# measured: {measured.count:,} bursts of a server's threads" in done.stdout
    study, options = plan_study(done.stdout, "mine.toml")
    assert isinstance(study.workload, ThreadsWorkload) and [one.label for one in options] == ["STD", "EXT"]
    assert study.name == f"dispatch-{made.study.name}" and "TPC" not in done.stdout
    group = study.workload.groups["server"]
    assert group.cpu.mean_us == pytest.approx(measured.burst_us, rel=0.01)
    assert group.sleep.mean_us == pytest.approx(measured.sleep_us, rel=0.01)
    refused = Lab(made.path.parent).run("dispatch", "--bursts", made.path, "--option", "NONE")
    assert 'no option "NONE"' in refused.stderr and refused.returncode == 2


def test_the_report_shows_what_was_found(made: Bundle) -> None:
    page = (made.path / "report.html").read_text()
    assert "Where CPU time goes" in page and "as kernprof prints it" in page and "Scheduling" in page


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can give up capabilities"
)
def test_without_rights_the_study_goes_on_and_says_what_is_missing(tmp_path: Path) -> None:
    if int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 1:
        pytest.skip("perf_event_paranoid lets everybody look at all CPUs")
    lab = Lab(tmp_path, prefix=("setpriv", "--bounding-set=-perfmon,-sys_admin"))
    bundle = run(lab)
    told = ask(bundle, "select distinct text from notices where code = 'probe-unavailable' order by 1")
    sources = {str(text).partition(":")[0] for (text,) in told}
    assert {"profile", "locks", "sched"} <= sources
    # tracefs is refused by its mode where it is mounted, and by the mount where it is not
    rights = ("perf_event_paranoid", "CAP_SYS_ADMIN")
    assert all(any(one in str(text) for one in rights) for (text,) in told if "symbols" not in str(text))
    for table in ("profile", "locks", "scheduling"):
        assert ask(bundle, f"select count(*) from {table}") == [(0,)]
