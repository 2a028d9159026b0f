import heapq
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from latch_formula import predict, sleeps_per_miss, spin_success
from made_latches import calibrated, constant, exponential, paused
from published import I7, T2, latch, lookups_per_s

from steelyard.analysis.latches.model import Holds, Network, think_ns

RESULT = "result cache"


@pytest.mark.parametrize(("hold_ns", "spin_ns", "success"), [(270, 186.5, 0.690), (520, 186.5, 0.359)])
def test_spin_success_of_a_constant_hold_as_measured(hold_ns: float, spin_ns: float, success: float):
    assert spin_success(constant(hold_ns), spin_ns) == pytest.approx(success, abs=2e-3)


def test_spin_success_is_the_residual_life():
    holds = Holds.of([100, 900], [0.5, 0.5])
    # 1 - F is 1 up to 100 ns, then 1/2 up to 900 ns; the mean is 500 ns
    assert spin_success(holds, 100) == pytest.approx(100 / 500)
    assert spin_success(holds, 500) == pytest.approx((100 + 200) / 500)
    assert spin_success(holds, math.inf) == 1


@pytest.mark.parametrize("busy", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("spin", [0.1, 1.0, 3.0])
def test_sleeps_per_miss_of_exponential_holds(busy: float, spin: float):
    found = sleeps_per_miss(exponential(400.0), spin * 400.0, busy)
    assert found == pytest.approx(math.exp(-(1 - busy) * spin), abs=2e-4)


def test_twice_the_spin_squares_the_sleeps_per_miss_without_queueing():
    holds = exponential(1.0)
    spin = -math.log(0.162)
    assert sleeps_per_miss(holds, spin) == pytest.approx(0.162, abs=2e-4)
    assert sleeps_per_miss(holds, 2 * spin) == pytest.approx(0.0263, abs=2e-4)


def test_misses_of_the_i7_with_one_hold_time():
    """The same mean hold of 0.44 us at every N, think time from one process."""
    holds = exponential(440)
    one = 2 * lookups_per_s(I7, RESULT)[1][0]
    network = Network(holds, think_ns(one, 1, holds))
    percent = [100 * predict(network, n).misses_per_get for n in range(1, 13)]
    assert percent[1:6] == pytest.approx([3.9, 7.6, 11.5, 15.3, 19.1], abs=0.1)
    assert percent[11] == pytest.approx(41, abs=0.5)
    measured = [100 * m / g for m, g in zip(latch(I7, "misses"), latch(I7, "gets"), strict=True)]
    assert percent[1:6] == pytest.approx(measured[1:6], abs=2.0)
    # the hold itself grows where threads share cores: one hold time cannot tell of twelve
    assert measured[11] - percent[11] > 20


@pytest.mark.parametrize(("platform", "free", "gain"), [(I7, 316e3, 0.07), (T2, 52.8e3, 0.04)])
def test_lookups_of_twelve_processes_without_any_latch_wait(platform: str, free: float, gain: float):
    x = lookups_per_s(platform, RESULT)[1][11]
    misses = latch(platform, "misses")[11] / latch(platform, "gets")[11]
    network = calibrated(2 * x, misses, 12, exponential(1.0))
    last = predict(network, 12)
    assert (last.gets_per_s / 2, last.misses_per_get) == pytest.approx((x, misses), rel=1e-6)
    without_waits = 12 / (network.think_ns + network.holds.mean_ns) * 1e9
    found = without_waits / 2
    assert found == pytest.approx(free, rel=5e-3)
    assert found / x - 1 == pytest.approx(gain, abs=0.01)


def test_two_workers_with_exponential_holds_are_exact():
    # machine repairman, 2 workers: an arrival sees the other one alone
    two = predict(Network(exponential(300.0), 700.0), 2)
    assert two.misses_per_get == pytest.approx(0.3, rel=1e-3)
    assert two.wait_mean_ns == pytest.approx(90, rel=1e-3)


def simulate(network: Network, workers: int, gets: int = 60_000) -> tuple[float, float]:
    """Gets a second and misses a get of the same network, first come first served, event by event."""
    chance = np.random.default_rng(7)
    holds = chance.choice(network.holds.ns, size=gets, p=network.holds.share)
    thinks = chance.exponential(network.think_ns, size=gets + workers)
    arrivals = [float(t) for t in thinks[:workers]]
    heapq.heapify(arrivals)
    free, misses, now = 0.0, 0, 0.0
    for i in range(gets):
        now = heapq.heappop(arrivals)
        misses += free > now
        free = max(free, now) + holds[i]
        heapq.heappush(arrivals, free + thinks[workers + i])
    return gets / now * 1e9, misses / gets


@pytest.mark.parametrize("workers", [2, 4, 12])
@pytest.mark.parametrize("think", [200.0, 1000.0, 5000.0])
@pytest.mark.parametrize("holds", [constant(300), exponential(300.0)], ids=["constant", "exp"])
def test_prediction_against_simulation(holds: Holds, think: float, workers: int):
    network = Network(holds, think)
    gets_per_s, misses = simulate(network, workers)
    found = predict(network, workers)
    assert found.gets_per_s == pytest.approx(gets_per_s, rel=0.01)
    assert found.misses_per_get == pytest.approx(misses, abs=0.01)


@given(hold=st.floats(10, 1e4), think=st.floats(0, 1e5), spin=st.floats(0, 1e5), children=st.integers(1, 64))
def test_no_prediction_beats_the_bounds(hold: float, think: float, spin: float, children: int):
    network = Network(constant(hold), think, spin, hand_over_ns=100, wake_up_ns=5e4, children=children)
    for p in (predict(network, n) for n in (1, 2, 7, 16)):
        most = min(p.workers / (think + hold), children / hold) * 1e9
        assert 0 < p.gets_per_s <= most * (1 + 1e-9)
        assert 0 <= p.misses_per_get <= 1 and p.sleeps_per_miss >= 0


def test_children_divide_the_misses():
    network = Network(constant(300), 3000.0)
    one, eight = (predict(Network(network.holds, 3000.0, children=k), 8) for k in (1, 8))
    assert eight.misses_per_get < one.misses_per_get / 6
    assert eight.gets_per_s > one.gets_per_s


def test_a_preempted_holder_costs_everybody():
    holds = constant(300)
    calm, slowed = (predict(Network(h, 3000.0), 8) for h in (holds, paused(holds, 1e-4, 3e6)))
    assert slowed.wait_mean_ns > 10 * calm.wait_mean_ns
    assert slowed.gets_per_s < calm.gets_per_s


def test_sleeping_costs_its_wake_up():
    spins, sleeps = (predict(Network(constant(300), 1000.0, s, 0, 5e4), 4) for s in (1e9, 0.0))
    assert spins.sleeps_per_miss == 0 and sleeps.sleeps_per_miss >= 1
    assert sleeps.gets_per_s < spins.gets_per_s / 2


def test_beyond_the_cpus_only_as_many_compete_as_there_are_cpus():
    holds = constant(300)
    found, two = predict(Network(holds, 700.0, cpus=2), 8), predict(Network(holds, 700.0), 2)
    assert (found.workers, found.gets_per_s) == (8, two.gets_per_s)
    assert found.misses_per_get == two.misses_per_get


@pytest.mark.parametrize(
    ("ns", "share"), [([], []), ([1.0], [0.5, 0.5]), ([-1.0], [1.0]), ([1.0], [0.0]), ([0.0], [1.0])]
)
def test_holds_that_cannot_be_are_refused(ns: list[float], share: list[float]):
    with pytest.raises(ValueError):
        Holds.of(ns, share)


def test_misses_that_no_latch_gives_are_refused():
    with pytest.raises(ValueError, match="no latch gives"):
        calibrated(1e6, 0.0, 4, constant(1))
