from dataclasses import replace

import pytest

from steelyard.analysis.latch_model import Holds, Network, Wake, predict
from steelyard.analysis.latch_simulation import Rules, alternatives, expected, simulate


@pytest.mark.parametrize("workers", [2, 4, 8])
@pytest.mark.parametrize("think_ns", [500.0, 3000.0])
@pytest.mark.parametrize(
    "holds",
    [Holds.constant(300), Holds.exponential(300), Holds.of([100.0, 2000.0], [0.9, 0.1])],
    ids=["constant", "exponential", "long-tailed"],
)
def test_formula_and_simulation_agree_where_nobody_sleeps(holds: Holds, think_ns: float, workers: int):
    network = Network(holds, think_ns, hand_over_ns=40.0)
    formula, events = predict(network, workers), simulate(network, workers)
    assert formula.gets_per_s == pytest.approx(events.gets_per_s, rel=0.03)
    assert formula.misses_per_get == pytest.approx(events.misses_per_get, abs=0.03)


@pytest.mark.parametrize("children", [2, 8])
def test_the_formula_for_children_is_near_the_simulation(children: int):
    network = Network(Holds.exponential(300), 700.0, children=children)
    formula, events = predict(network, 8), simulate(network, 8)
    assert formula.gets_per_s == pytest.approx(events.gets_per_s, rel=0.05)
    assert formula.misses_per_get == pytest.approx(events.misses_per_get, abs=0.03)


def test_readers_that_share_do_not_miss():
    network = Network(Holds.constant(300), 300.0)
    assert simulate(network, 8, Rules(shared_gets=True)).misses_per_get == 0
    some = simulate(network, 8, Rules(shared_gets=True, read_share=0.9)).misses_per_get
    assert 0 < some < predict(network, 8).misses_per_get


def test_a_latch_granted_to_sleepers_in_turn_forms_a_convoy():
    """The grant waits for the wake-up: the latch stands idle meanwhile (Blasgen and others 1979)."""
    network = Network(Holds.constant(300), 3000.0, spin_ns=100.0, wake_up_ns=2e4)
    barging, in_turn = simulate(network, 8), simulate(network, 8, Rules(in_turn=True))
    assert in_turn.gets_per_s < barging.gets_per_s / 2


def test_two_workers_are_never_both_asleep_so_sleeping_cannot_cost_more_than_one_of_them():
    # who misses sleeps until the other's release, and that one is then alone
    network = Network(Holds.exponential(500), 500.0, spin_ns=0.0, wake_up_ns=18_000)
    alone = expected(network, 1, Rules()).gets_per_s
    assert expected(network, 2, Rules()).gets_per_s > 0.98 * alone


def test_who_wakes_soon_after_a_short_sleep_is_there_again_to_miss():
    network = Network(Holds.exponential(500), 2000.0, spin_ns=0.0, wake_up_ns=20_000)
    step = (Wake(0, 600), Wake(400, 600), Wake(500, 20_000))
    away, soon = expected(network, 2, Rules()), expected(replace(network, wakes=step), 2, Rules())
    assert soon.misses_per_get > 1.3 * away.misses_per_get
    assert soon.gets_per_s > away.gets_per_s
    # between two sleeps that were measured lies a straight line, beyond them the nearer one
    flat = expected(replace(network, wakes=(Wake(5, 20_000), Wake(10, 20_000))), 2, Rules())
    assert flat == away


def test_who_must_post_works_less():
    network = Network(Holds.exponential(500), 500.0, spin_ns=0.0, wake_up_ns=18_000)
    free, dear = (
        expected(replace(network, wakes=(Wake(0, 18_000, post_ns),)), 2, Rules()) for post_ns in (0, 10_000)
    )
    assert dear.gets_per_s < 0.9 * free.gets_per_s


def test_where_no_cpu_is_at_rest_a_sleep_costs_a_switch():
    idle = (Wake(0, 600, 600), Wake(500, 20_000, 10_000))
    network = Network(
        Holds.exponential(500), 500.0, spin_ns=0.0, wakes=idle, switch_ns=2000, wake_up_ns=2e4, cpus=2
    )
    enough, crowded = expected(network, 2, Rules()), expected(network, 8, Rules())
    assert crowded.gets_per_s > 1.1 * enough.gets_per_s


def test_alternatives_name_what_was_asked():
    network = Network(Holds.constant(300), 1000.0, spin_ns=200, wake_up_ns=5e4, cpus=2)
    found = dict(alternatives(network, 8, Rules()))
    assert list(found)[:3] == ["as measured", "no spinning", "twice the spin budget"]
    assert found["8 children"].misses_per_get < found["2 children"].misses_per_get
    assert found["shared gets, all to read"].misses_per_get == 0
    assert 0 < found["shared gets, one in ten to write"].misses_per_get < found["as measured"].misses_per_get
    assert found["a CPU for each of the 8"].misses_per_get > found["as measured"].misses_per_get
    assert found["a holder in 10,000 loses its CPU for 3 ms"].gets_per_s < found["as measured"].gets_per_s
