"""The latch engine as Python sees it."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from steelyard import _core

PLAN = {
    "protocol": "oracle-x",
    "workers": "processes",
    "points": [1, 2],
    "warm_up_s": 0.1,
    "measure_s": 0.3,
    "cool_down_s": 0.1,
    "seed": 1,
}


def run(**changes: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    events: list[dict[str, Any]] = []
    result = _core.latch_run(json.dumps({**PLAN, **changes}), lambda line: events.append(json.loads(line)))
    return json.loads(result), events


def test_a_run_tells_its_phases_in_order_and_counts_two_gets_a_lookup() -> None:
    result, events = run()
    phases = [event["phase"] for event in events if event["event"] == "phase"]
    assert phases == ["connect", "warm-up", "measure"] * 2 + ["cool-down"]
    assert result["phases"]["phase"] == phases
    for point in (0, 1):
        lookups = sum(
            count
            for at, count in zip(result["clients"]["point"], result["clients"]["transactions"], strict=True)
            if at == point
        )
        # the last lookups of each worker end after the point and are not counted, their gets are
        assert 2 * lookups <= result["latches"]["gets"][point] <= 2 * lookups + 64
    assert result["errors"]["code"] == []


def test_every_protocol_named_by_the_core_runs_or_is_refused_by_name() -> None:
    for protocol in _core.latch_protocols():
        if protocol["processes"]:
            run(protocol=protocol["name"], points=[2], warm_up_s=0.05, measure_s=0.05)
        else:
            with pytest.raises(
                _core.PlanError, match=f"^workers: `{protocol['name']}` works between threads"
            ):
                run(protocol=protocol["name"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocol": "orcale-x"}, "protocol: unknown latch `orcale-x`; one of: oracle-x"),
        ({"protocol": "mcs", "spin": 100}, "spin: `mcs` has no spin budget to set"),
        ({"points": []}, "points: needs one number of workers or more"),
        ({"cpus": [4000]}, "cpus: CPU 4000 is not available to this process"),
        ({"read_share": 1.5}, "read_share: must be 0 to 1, not 1.5"),
        ({"holdns": 5}, "plan: unknown field `holdns`"),
    ],
)
def test_a_bad_plan_is_refused_with_its_field(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(_core.PlanError) as refused:
        run(**changes)
    assert str(refused.value).startswith(message)


def test_what_the_listener_raises_ends_the_run() -> None:
    def raising(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _core.latch_run(json.dumps(PLAN), raising)


def test_calibration_keeps_its_spread_in_order() -> None:
    costs = json.loads(_core.latch_calibrate([0]))
    assert costs["line_transfer_ns"] is None
    for name in ("futex_same_cpu_ns", "clock_ns", "spin_turn_ns", "busy_turn_ns"):
        assert 0 < costs[name]["min"] <= costs[name]["median"] <= costs[name]["max"]


def test_the_simulation_repeats_itself_for_a_seed() -> None:
    plan = {
        "workers": 4, "hold": {"kind": "exponential", "mean_ns": 400}, "spin_ns": 1000, "order": "barging",
        "think": {"kind": "exponential", "mean_ns": 2000}, "duration_ns": 1e7, "seed": 9,
    }  # fmt: skip
    assert _core.latch_simulate(json.dumps(plan)) == _core.latch_simulate(json.dumps(plan))
    assert _core.latch_simulate(json.dumps(plan)) != _core.latch_simulate(json.dumps({**plan, "seed": 10}))


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two workers at once need two CPUs")
def test_circumstances_alternate_and_each_engages_its_workers() -> None:
    among = {"one": 1, "two-uncounted": 2, "apart": 2}
    plan = {**PLAN, "cpus": sorted(os.sched_getaffinity(0))[:2]}
    rows = json.loads(_core.latch_turns(json.dumps(plan), list(among), 4))
    for round_ in range(4):
        mine = [row["circumstance"] for row in rows if row["round"] == round_]
        assert {name: mine.count(name) for name in among} == among
    assert all(row["lookups"] > 0 for row in rows if row["whole"])
    assert all(row["timed_misses"] <= row["timed_gets"] <= 2 * row["lookups"] for row in rows)
    # a worker that is preempted as it holds the latch holds it into the next turn, for one miss of the other
    assert all(row["timed_misses"] <= 1 for row in rows if row["circumstance"] != "two-uncounted")


@pytest.mark.parametrize(
    ("cpus", "among", "message"),
    [([], ["one"], "cpus: needs two"), ([0, 0], ["three"], "circumstances: unknown variant `three`")],
)
def test_unknown_circumstances_are_refused_by_name(cpus: list[int], among: list[str], message: str) -> None:
    with pytest.raises(_core.PlanError, match=f"^{message}"):
        _core.latch_turns(json.dumps({**PLAN, "cpus": cpus}), among, 1)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU hands nothing over")
@pytest.mark.parametrize(
    ("protocol", "measured"),
    [("oracle-x", {"line_transfer_ns", "hand_over_ns"}), ("lwlock", {"line_transfer_ns"})],
)
def test_each_point_has_its_hand_over_where_the_latch_is_spun_for(protocol: str, measured: set[str]) -> None:
    found: dict[str, set[str]] = {"point0": set(), "point1": set()}
    # on a busy machine there may be no round in which both workers had a CPU
    for _ in range(5):
        samples = run(protocol=protocol)[0]["samples"]
        for entity, metric, value in zip(samples["entity"], samples["metric"], samples["value"], strict=True):
            if entity in found:
                found[entity].add(metric)
                assert value > 0
        if all(metrics == measured for metrics in found.values()):
            break
    assert found == {"point0": measured, "point1": measured}


def test_who_queues_for_a_latch_never_sleeps_and_oracles_shared_latch_spins_twice() -> None:
    plan = {"points": [1], "measure_s": 0.1}
    ticket, shared = (run(protocol=name, **plan)[0]["engine"] for name in ("ticket", "oracle-sx"))
    assert (ticket["in_turn"], ticket["spin"]) == (True, 0)
    assert (shared["in_turn"], shared["spin"]) == (False, 4000)


def test_pauses_that_stop_both_cpus_are_a_share_of_all() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    pauses = json.loads(_core.latch_calibrate(cpus))["pauses"]
    assert (pauses is None) == (len(cpus) < 2)
    assert pauses is None or (0 <= pauses["common"] <= 1 and pauses["per_s"] >= 0)
