"""Lock table and profile as the analysis sets them out; the published ones come back as published."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidence import Truth, changed, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.kernel import FOREIGN, TOTAL, locks, profile, profile_reasons
from steelyard.bundle.evidence import Columns, Evidence
from steelyard.bundle.export import export_stacks
from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError
from steelyard.recordings.importing import write_published
from steelyard.study.monitors import Probes

HZ = 100
BLOCKS = 6
LOCK = ("run", "role", "lock", "type", "call_site", "contended", "wait_total_ns", "wait_max_ns")
UNKNOWN = (
    *("distinct_locks", "acquisitions", "wait_cpu_percent", "utilisation_percent"),
    *("hold_mean_ns", "hold_max_ns"),
)


def two_options() -> Evidence:
    study = study_of({"f": ["A", "B"]}).model_copy(update={"probes": Probes(profile_hz=HZ)})
    return evidence_of(study, {"A": Truth(), "B": Truth()}, blocks=BLOCKS, noise=0, block_noise=0)


def columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Columns:
    text = ("role", "function", "lock", "type", "call_site")
    return {
        name: np.asarray([row[i] for row in rows], dtype=object if name in text else None)
        for i, name in enumerate(names)
    }


def profiled(evidence: Evidence, samples: dict[str, dict[str, float]], noise: float = 0.0) -> Evidence:
    """Samples a run by option and function, each with a spread over runs."""
    chance = np.random.default_rng(3)
    rows = [
        (run, "server", function, round(mean * (1 + noise * chance.standard_normal())))
        for run, option in zip(evidence.view("runs")["run"], evidence.view("runs")["option"], strict=True)
        for function, mean in samples[str(option)].items()
    ]
    return changed(evidence, functions=columns(("run", "role", "function", "samples"), rows))


def test_a_sample_stands_for_its_period_of_cpu_time() -> None:
    evidence = profiled(two_options(), {"A": {"parse": 30, "run_[k]": 90}, "B": {"parse": 30}})
    work = dict(evidence.rows("select run, sum(transactions) from points group by run"))
    mine = [
        run
        for run, o in zip(evidence.view("runs")["run"], evidence.view("runs")["option"], strict=True)
        if o == "A"
    ]
    rows = {row.function: row for row in profile(evidence) if row.option == "A"}
    assert rows["run"].in_kernel and rows["run"].share == pytest.approx(0.75)
    assert rows["parse"].samples == 30 * BLOCKS
    expected = 30 * BLOCKS / HZ * 1e6 / sum(work[run] for run in mine)
    assert rows["parse"].us_per_txn == pytest.approx(expected)


def test_the_function_that_differs_most_is_named_and_one_without_a_name_never() -> None:
    evidence = profiled(
        two_options(),
        {"A": {"parse": 900, "same": 500, "[libc.so.6]": 4000}, "B": {"parse": 300, "same": 500}},
        noise=0.05,
    )
    (reason,) = profile_reasons(evidence, "B")
    assert "parse differs most" in reason and "under B" in reason and "same" not in reason


@pytest.mark.parametrize("mean", [8.0, 500.0])
def test_no_function_is_named_for_few_samples_or_chance(mean: float) -> None:
    # few samples with a large difference; many without one
    other = mean if mean > 100 else 2 * mean
    evidence = profiled(two_options(), {"A": {"parse": mean}, "B": {"parse": other}}, noise=0.05)
    assert profile_reasons(evidence, "B") == ()
    assert profile_reasons(evidence, "A") == ()
    assert profile_reasons(evidence, None) == ()


def waited(*rows: Sequence[Any]) -> Evidence:
    evidence = two_options()
    run = int(evidence.view("runs")["run"][0])
    table = columns(LOCK, [(run, *row) for row in rows])
    unknown = {name: np.full(len(rows), np.nan) for name in UNKNOWN}
    return changed(evidence, locks={**table, **unknown}, probed_cpus=2)


def test_call_sites_add_up_to_their_lock_and_locks_to_the_total() -> None:
    evidence = waited(
        ("server", "mutex", "mutex", "a+0x1", 10, 5000, 900),
        ("server", "mutex", "mutex", "b+0x2", 30, 7000, 800),
        ("kernel", "spinlock", "spinlock", "c+0x3", 2, 600, 500),
        ("other", "spinlock", "spinlock", "c+0x3", 99, 9999, 9999),
    )
    rows = locks(evidence)
    assert [(row.lock, row.call_site) for row in rows] == [
        (TOTAL, ""), ("mutex", ""), ("mutex", "b+0x2"), ("mutex", "a+0x1"),
        ("spinlock", ""), ("spinlock", "c+0x3"), (FOREIGN, ""),
    ]  # fmt: skip
    total, mutex = rows[0], rows[1]
    assert (total.contended, total.wait_max_ns) == (42, 900)
    assert (mutex.contended, mutex.wait_mean_ns) == (40, 300)
    # who sleeps burns no CPU: only the spinlock's 600 ns are CPU time
    assert mutex.cpu_percent is None
    assert total.cpu_percent == pytest.approx(
        100 * 600e-9 / (2 * float(evidence.view("points")["seconds"][0])), rel=1e-6
    )


def test_what_a_tracepoint_does_not_tell_is_not_zero() -> None:
    (row, *_) = locks(waited(("server", "mutex", "mutex", "a+0x1", 10, 5000, 900)))
    assert row.acquisitions is row.utilisation_percent is row.contention_percent is None
    assert row.hold_mean_ns is row.hold_max_ns is None


def test_the_published_tables_of_kernel_2_5_26_come_back(tmp_path: Path) -> None:
    write_published("kernel-2.5.26", tmp_path / "k")
    judgement = judge(Bundle(tmp_path / "k").evidence())
    assert all(row.option == "K2526" for row in (*judgement.profile, *judgement.locks))
    assert sum(row.samples for row in judgement.profile) == 3_137_055
    shares = {row.function: round(100 * row.share, 1) for row in judgement.profile}
    assert shares["USER"] == 68.8 and shares["default_idle"] == 24.2 and shares["do_ipsintr"] == 2.4
    total, ips = judgement.locks
    assert (total.lock, total.acquisitions, total.utilisation_percent) == ("*TOTAL*", 65_591_728, None)
    assert total.contention_percent == pytest.approx(2.0, abs=1e-4)
    assert (total.hold_mean_ns, total.hold_max_ns, total.cpu_percent) == (5_300, 8_532_000, 0.07)
    assert (ips.utilisation_percent, ips.wait_max_ns) == (15.3, 202_000)
    assert ips.wait_mean_ns == pytest.approx(10_000)
    assert total.contended_per_txn is None


def test_stacks_are_written_as_other_tools_read_them(tmp_path: Path) -> None:
    write_published("kernel-2.5.26", tmp_path / "k")
    bundle = Bundle(tmp_path / "k")
    (folded,) = export_stacks(bundle, tmp_path / "out", "folded")
    lines = dict(line.rsplit(" ", 1) for line in folded.read_text().splitlines())
    assert lines[";USER"] == "2159334" and lines["idle;default_idle_[k]"] == "759032"
    (place,) = export_stacks(bundle, tmp_path / "out", "speedscope")
    told = json.loads(place.read_text())
    (one,) = told["profiles"]
    names = [frame["name"] for frame in told["shared"]["frames"]]
    weights = {names[stack[-1]]: weight for stack, weight in zip(one["samples"], one["weights"], strict=True)}
    assert weights["USER"] == 2_159_334 and one["endValue"] == 3_137_055
    write_published("result-cache-t2", tmp_path / "t2")
    with pytest.raises(InputError, match="no profile"):
        list(export_stacks(Bundle(tmp_path / "t2"), tmp_path / "out", "folded"))
