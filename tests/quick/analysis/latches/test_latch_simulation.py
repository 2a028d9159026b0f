from dataclasses import replace

import pytest
from latch_formula import predict
from made_latches import constant, exponential

from steelyard.analysis.latches.model import Holds, Network, Wake
from steelyard.analysis.latches.simulation import (
    GETS_HALF,
    MISSES_HALF,
    Rules,
    alternatives,
    simulate,
    woken_as_measured,
)


@pytest.mark.parametrize("workers", [2, 4, 8])
@pytest.mark.parametrize("think_ns", [500.0, 3000.0])
@pytest.mark.parametrize(
    "holds",
    [constant(300), exponential(300), Holds.of([100.0, 2000.0], [0.9, 0.1])],
    ids=["constant", "exponential", "long-tailed"],
)
def test_formula_and_simulation_agree_where_nobody_sleeps(holds: Holds, think_ns: float, workers: int):
    network = Network(holds, think_ns, hand_over_ns=40.0)
    formula, events = predict(network, workers), simulate(network, workers, Rules(in_turn=True))
    assert formula.gets_per_s == pytest.approx(events.gets_per_s, rel=0.03)
    assert formula.misses_per_get == pytest.approx(events.misses_per_get, abs=0.03)


@pytest.mark.parametrize("children", [2, 8])
def test_the_formula_for_children_is_near_the_simulation(children: int):
    network = Network(exponential(300), 700.0, children=children)
    formula, events = predict(network, 8), simulate(network, 8)
    assert formula.gets_per_s == pytest.approx(events.gets_per_s, rel=0.05)
    assert formula.misses_per_get == pytest.approx(events.misses_per_get, abs=0.03)


def test_readers_that_share_do_not_miss():
    network = Network(constant(300), 300.0)
    assert simulate(network, 8, Rules(shared_gets=True)).misses_per_get == 0
    some = simulate(network, 8, Rules(shared_gets=True, read_share=0.9)).misses_per_get
    assert 0 < some < predict(network, 8).misses_per_get


def test_a_latch_granted_to_sleepers_in_turn_forms_a_convoy():
    """The grant waits for the wake-up: the latch stands idle meanwhile (Blasgen and others 1979)."""
    network = Network(constant(300), 3000.0, spin_ns=100.0, wake_up_ns=2e4)
    barging, in_turn = simulate(network, 8), simulate(network, 8, Rules(in_turn=True))
    assert in_turn.gets_per_s < barging.gets_per_s / 2


def test_two_workers_are_never_both_asleep_so_sleeping_cannot_cost_more_than_one_of_them():
    # who misses sleeps until the other's release, and that one is then alone
    network = Network(exponential(500), 500.0, spin_ns=0.0, wake_up_ns=18_000)
    alone = simulate(network, 1, Rules()).gets_per_s
    assert simulate(network, 2, Rules()).gets_per_s > 0.98 * alone


def test_who_wakes_soon_after_a_short_sleep_is_there_again_to_miss():
    network = Network(exponential(500), 2000.0, spin_ns=0.0, wake_up_ns=20_000)
    step = (Wake(0, 600), Wake(400, 600), Wake(500, 20_000))
    away, soon = simulate(network, 2, Rules()), simulate(replace(network, wakes=step), 2, Rules())
    assert soon.misses_per_get > 1.3 * away.misses_per_get
    assert soon.gets_per_s > away.gets_per_s
    # between two sleeps that were measured lies a straight line, beyond them the nearer one
    flat = simulate(replace(network, wakes=(Wake(5, 20_000), Wake(10, 20_000))), 2, Rules())
    assert flat == away


def test_who_must_post_works_less():
    network = Network(exponential(500), 500.0, spin_ns=0.0, wake_up_ns=18_000)
    free, dear = (
        simulate(replace(network, wakes=(Wake(0, 18_000, post_ns),)), 2, Rules()) for post_ns in (0, 10_000)
    )
    assert dear.gets_per_s < 0.9 * free.gets_per_s


def test_where_no_cpu_is_at_rest_a_sleep_costs_a_switch():
    idle = (Wake(0, 600, 600), Wake(500, 20_000, 10_000))
    network = Network(
        exponential(500), 500.0, spin_ns=0.0, wakes=idle, switch_ns=2000, wake_up_ns=2e4, cpus=2
    )
    enough, crowded = simulate(network, 2, Rules()), simulate(network, 8, Rules())
    assert crowded.gets_per_s > 1.1 * enough.gets_per_s


def test_two_gets_a_lookup_and_constant_think_times_are_another_loop_than_exponential_ones():
    """Two workers fall into step: one works through both its gets while the other thinks."""
    network = Network(constant(500), 1000.0, hand_over_ns=150, gets_per_lookup=2, between_ns=50)
    step, chance = (simulate(replace(network, think_is_constant=one), 2) for one in (True, False))
    # hand-over, two holds and what lies between, by turns
    assert step.gets_per_s == pytest.approx(2e9 / (150 + 500 + 50 + 500), rel=0.01)
    assert step.misses_per_get == pytest.approx(0.5, abs=0.01)
    assert chance.gets_per_s < 0.95 * step.gets_per_s


def test_a_prediction_says_how_sure_it_is():
    network = Network(exponential(500), 1000.0, spin_ns=500, wake_up_ns=5000)
    found = simulate(network, 4, Rules())
    assert 0 < found.gets_per_s_half <= GETS_HALF * found.gets_per_s
    assert 0 < found.misses_per_get_half <= MISSES_HALF
    other = simulate(network, 4, seed=2)
    # twice the sum of both intervals: one pair in thousands lies farther apart
    assert abs(found.misses_per_get - other.misses_per_get) <= 2 * (
        found.misses_per_get_half + other.misses_per_get_half
    )


def test_of_sleeps_without_any_wake_up_time_the_formula_expects_too_many():
    network = Network(constant(500), 1000.0, spin_ns=400.0, wake_up_ns=0.0)
    formula, found = predict(network, 2), simulate(network, 2, Rules())
    assert found.sleeps_per_miss < 0.5 * formula.sleeps_per_miss


def test_spinners_beyond_the_cpus_lose_theirs_while_they_hold():
    network = Network(constant(500), 1000.0, cpus=2, slice_ns=1e6, switch_ns=1000)
    two, four = simulate(network, 2, Rules()), simulate(network, 4, Rules())
    assert four.gets_per_s < 0.8 * two.gets_per_s
    assert simulate(network, 4, Rules(in_turn=True)).gets_per_s < 0.1 * four.gets_per_s


def test_wake_ups_are_scaled_to_what_a_sleep_lasted_and_cost():
    wakes = (Wake(0, 600, 600), Wake(300, 600, 600), Wake(400, 20_000, 12_000), Wake(1e5, 25_000, 15_000))
    network = Network(exponential(500), 1000.0, spin_ns=0.0, wakes=wakes)
    other = tuple(replace(wake, wake_ns=2 * wake.wake_ns, post_ns=wake.post_ns / 2) for wake in wakes)
    truth = replace(network, wakes=other)
    run = simulate(truth, 2, seed=5)
    found = woken_as_measured(network, 2, Rules(), run.wait_per_sleep_ns, run.post_per_sleep_ns)
    assert found.wakes[-1].wake_ns == pytest.approx(50_000, rel=0.15)
    assert found.wakes[-1].post_ns == pytest.approx(7_500, rel=0.15)
    assert simulate(found, 2).gets_per_s == pytest.approx(run.gets_per_s, rel=0.05)


def test_pauses_of_every_cpu_are_spread_over_all_holds():
    holds = Holds.of([500.0, 2500.0], [0.99, 0.01])
    assert holds.without(0.0, 1000).ns.tolist() == [500, 2500]
    spread = holds.without(1.0, 1000)
    assert spread.mean_ns == pytest.approx(holds.mean_ns)
    assert spread.share.tolist() == [1, 0]
    assert holds.without(1.0, 5000).share.tolist() == holds.share.tolist()


def test_alternatives_name_what_was_asked():
    network = Network(constant(300), 1000.0, spin_ns=200, wake_up_ns=5e4, cpus=2)
    found = dict(alternatives(network, 8, Rules()))
    assert list(found)[:3] == ["as measured", "no spinning", "twice the spin budget"]
    assert found["8 children"].misses_per_get < found["2 children"].misses_per_get
    assert found["shared gets, all to read"].misses_per_get == 0
    assert 0 < found["shared gets, one in ten to write"].misses_per_get < found["as measured"].misses_per_get
    assert "a CPU for each of the 8" in found
    assert found["a holder in 10,000 loses its CPU for 3 ms"].gets_per_s < found["as measured"].gets_per_s


def test_cpus_that_are_lost_rarely_cost_what_they_cost():
    # a holder that loses its CPU leaves the others spinning for milliseconds, thousands of gets apart
    network = Network(
        constant(500), 1000.0, hand_over_ns=150, gets_per_lookup=2, cpus=2, slice_ns=8e6, switch_ns=1e3
    )
    two, three = (simulate(network, workers) for workers in (2, 3))
    assert three.gets_per_s < 0.85 * two.gets_per_s
    assert three.gets_per_s_half > 0.02 * three.gets_per_s
