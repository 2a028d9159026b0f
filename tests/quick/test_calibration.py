"""Calibration: believable numbers are kept, others refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.cli.commands import run
from steelyard.host.cpus.calibration import Estimate, judge, last_level_cache_bytes, working_sets

CHASE = Estimate(110, 105, 118, 15)


# one noisy run of a virtual machine: 1.2 us direct, 51 us at 512 KiB
SEEN = [
    (4096, Estimate(1200, 1100, 1350, 15), 60.0),
    (524_288, Estimate(51_000, 48_000, 53_000, 15), 9000.0),
]


def test_direct_cost_latency_and_overlap_are_told() -> None:
    found = judge(0, 1 << 26, SEEN, CHASE)
    assert found.direct == SEEN[0][1] and found.memory_latency == CHASE
    assert found.mlp == pytest.approx(110 / ((51_000 - 1200) / 8192))
    assert found.notices == ()


def test_a_negative_cost_is_refused() -> None:
    found = judge(0, 1 << 26, [(4096, Estimate(-300, -900, 200, 15), 60.0), SEEN[1]], CHASE)
    assert found.direct is None and found.mlp is None
    assert found.switches[0].verdict == "rejected"
    assert "cannot be negative" in found.notices[0]


def test_a_cost_that_may_be_nothing_is_not_told() -> None:
    found = judge(0, 1 << 26, [SEEN[0], (1 << 20, Estimate(90_000, -5000, 200_000, 15), 1.0)], CHASE)
    assert found.switches[1].verdict == "unclear"
    assert found.direct is not None and found.mlp is None


@pytest.mark.parametrize("ns", [0.4, 9000.0])
def test_a_latency_that_no_memory_has_is_refused(ns: float) -> None:
    found = judge(0, 1 << 26, SEEN, Estimate(ns, ns, ns, 15))
    assert found.memory_latency is None and "rejected" in found.notices[-1]


def test_an_overlap_that_no_core_has_is_refused() -> None:
    cheap = (4 << 20, Estimate(27_000, 15_000, 45_000, 15), 1.0)
    found = judge(0, 1 << 26, [SEEN[0], cheap], CHASE)
    assert found.mlp is None and "overlap of 279 misses rejected" in found.notices[-1]


def test_a_wide_interval_is_said() -> None:
    found = judge(0, 1 << 26, SEEN, Estimate(110, 60, 190, 15))
    assert found.notices == ("memory latency interval of 118% of the median: repeat on a quieter machine",)


def test_sets_reach_four_times_the_last_level_cache(tmp_path: Path) -> None:
    for index, text in enumerate(["32K", "512K", "8M"]):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(f"{text}\n")
    cache_bytes = last_level_cache_bytes(tmp_path)
    assert cache_bytes == 8 << 20
    sizes = working_sets(cache_bytes, quick=False)
    assert (sizes[0], sizes[-1]) == (4096, 32 << 20)
    assert last_level_cache_bytes(tmp_path / "none") is None


def test_a_refused_cost_ends_the_command_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = judge(0, 1 << 26, [(4096, Estimate(-300, -900, 200, 15), 60.0), SEEN[1]], CHASE)
    monkeypatch.setattr("steelyard.host.cpus.calibration.calibrate", lambda *_: refused)
    monkeypatch.setattr("sys.argv", ["steelyard", "calibrate", "--json"])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 1
