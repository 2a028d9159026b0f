"""Hosts that differ by more than chance are named; those that do not are not."""

from __future__ import annotations

import numpy as np

from evidence import Truth, changed, evidence_of, study_of
from steelyard.analysis.validity.harness import host_notices
from steelyard.bundle.evidence import Evidence

HOSTS = ("load1", "load2", "load3")


def evidence(slow: float = 1.0, noise: float = 0.03, runs: int = 8, seed: int = 1) -> Evidence:
    """Runs from three hosts; the latencies of load3 are `slow` times those of the others."""
    chance = np.random.default_rng(seed)
    rows = [(run, host) for run in range(1, runs + 1) for host in HOSTS]
    factors = np.array([slow if host == "load3" else 1.0 for _, host in rows])
    scatter = np.exp(chance.normal(0, noise, len(rows)))
    load = {
        "run": np.array([run for run, _ in rows]),
        "host": np.array([host for _, host in rows]),
        "point": np.zeros(len(rows), int),
        "clients": np.full(len(rows), 4),
        "transactions": 4000 / factors * scatter,
        "errors": np.zeros(len(rows)),
        "p50_ns": 1e6 * factors * scatter,
        "p99_ns": 3e6 * factors * np.exp(chance.normal(0, 3 * noise, len(rows))),
    }
    return changed(evidence_of(study_of({"f": "AB"}), {"A": Truth(), "B": Truth()}), host_load=load)


def test_a_slower_host_is_named_with_its_numbers() -> None:
    (notice,) = host_notices(evidence(slow=1.5))
    assert notice.code == "hosts-differ"
    assert "host load3: median latency +" in notice.text
    assert "host load3: transactions per client −" in notice.text


def test_hosts_that_differ_by_chance_are_not_named() -> None:
    found = [bool(host_notices(evidence(seed=seed))) for seed in range(25)]
    # 1 % of studies, by the level of the test
    assert sum(found) <= 2


def test_a_difference_below_the_smallest_effect_is_no_finding() -> None:
    assert host_notices(evidence(slow=1.02, noise=0.001)) == []


def test_one_machine_has_no_hosts() -> None:
    assert host_notices(evidence_of(study_of({"f": "AB"}), {"A": Truth(), "B": Truth()})) == []
