"""Options of a block in turns: their order, their own clock, and a whole study of it."""

from __future__ import annotations

import math
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laboratory import SMALL, Lab
from needs import needs_root
from rich.console import Console

from evidence import study_of
from steelyard.analysis.comparison.block_table import estimated_runs
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.read import read_series
from steelyard.errors import InputError
from steelyard.host.processes.signals import Interrupts
from steelyard.lab.observe.probes import not_in_turns
from steelyard.lab.turns.block import deals, rounds_of
from steelyard.lab.turns.lane import Course, Turn, own_samples, turn_ms
from steelyard.report.terminal.progress import Progress
from steelyard.run_tables.rows import Rows
from steelyard.study.study import Plan
from steelyard.subjects import Server
from steelyard.workflow.measure import resume, start
from steelyard.workflow.prepare import PreparedStudy

MS = 1_000_000


@given(
    options=st.integers(2, 6),
    measure_s=st.floats(0.1, 10),
    turn_ms=st.floats(20, 2000),
    seed=st.integers(0, 999),
)
def test_each_option_has_each_place_equally_often_and_one_turn_per_round(
    options: int, measure_s: float, turn_ms: float, seed: int
) -> None:
    plan = Plan(measure_s=measure_s, turn_ms=turn_ms)
    planned = list(deals(options, plan, Random(seed)))
    orders = [order for deal in planned for order in deal.rounds]
    assert len(orders) == rounds_of(plan)
    loads_ms = [len(deal.rounds) * turn_ms for deal in planned]
    assert all(len(deal.rounds) == 2 or load <= 1200 for deal, load in zip(planned, loads_ms, strict=True))
    assert all(sorted(order) == list(range(options)) for order in orders)
    assert all(sorted(deal.connects) == list(range(options)) for deal in planned)
    for first, second in zip(orders[::2], orders[1::2], strict=True):
        assert second == first[::-1]
    mean_place = Counter({option: sum(order.index(option) for order in orders) for option in range(options)})
    assert set(mean_place.values()) == {len(orders) * (options - 1) / 2}


@pytest.mark.parametrize(("measure_s", "turn_ms", "rounds"), [(3, 250, 12), (0.3, 250, 2), (1, 300, 4)])
def test_turns_fill_the_measured_time_in_pairs(measure_s: float, turn_ms: float, rounds: int) -> None:
    assert rounds_of(Plan(measure_s=measure_s, turn_ms=turn_ms)) == rounds


def course(*profiles: Sequence[int], length_ms: float = 100) -> Course:
    return Course(length_ms, list(profiles))


def of_latencies(*latencies_ms: float) -> Course:
    return Course(100, [[0] * 20], sum(latencies_ms), sum(each**2 for each in latencies_ms))


COURSE = (10, 25, 40, 52, 60, *[65] * 15)


def test_what_a_turn_settles_is_learnt_without_its_first_turn() -> None:
    assert course([5] * 20, [30] * 20, [31] * 20).settle_ms == 5
    assert course([0] * 19 + [700], COURSE, COURSE).settle_ms == 25
    assert course(COURSE, length_ms=200).settle_ms == 50
    assert course([0] * 20).settle_ms == course().settle_ms == 5


@given(st.lists(st.lists(st.integers(0, 10_000), min_size=20, max_size=20), min_size=1, max_size=5))
def test_a_turn_settles_within_its_first_half(turns: list[list[int]]) -> None:
    assert 5 <= course(*turns).settle_ms <= 50


def test_turns_hold_several_transactions_of_each_client() -> None:
    short, long = of_latencies(*[1] * 800), of_latencies(*[100] * 8)
    assert (short.under_way_ms, long.under_way_ms) == (1, 100)
    assert turn_ms([short], 100, 3000) == 100
    assert turn_ms([short, long], 250, 3000) == 500
    assert turn_ms([short, long], 250, 600) == 300
    assert turn_ms([course([0] * 20)], 100, 3000) == 100


@given(cycle_ms=st.floats(2, 50), clients=st.integers(1, 9), seed=st.integers(0, 9))
def test_clients_in_step_do_as_much_as_time_permits_in_the_mean_of_turns(
    cycle_ms: float, clients: int, seed: int
) -> None:
    chance, rounds, done = Random(seed), 400, 0
    warm_up = of_latencies(cycle_ms, cycle_ms)
    for _ in range(rounds):
        head_ms = warm_up.head_ms(5, chance)
        done += clients * (math.floor((head_ms + 100) / cycle_ms) - math.floor(head_ms / cycle_ms))
    assert done / rounds == pytest.approx(clients * 100 / cycle_ms, abs=clients * 5 * 0.5 / math.sqrt(rounds))


@pytest.mark.parametrize(("short_ms", "long_ms", "share"), [(1, 50, 0.01), (1, 20, 0.05), (2, 40, 0.3)])
def test_a_mix_of_short_and_long_transactions_counts_as_in_a_long_run(
    short_ms: float, long_ms: float, share: float
) -> None:
    """In a long run a client does one transaction per mean latency, and of them the share is long."""
    chance, done, long, measured_ms = Random(1), 0, 0, 0.0

    def latency_ms() -> float:
        return (long_ms if chance.random() < share else short_ms) * chance.uniform(0.8, 1.2)

    warm_up = of_latencies(*[latency_ms() for _ in range(10_000)])
    length_ms = turn_ms([warm_up], 250, 3000)
    for _ in range(10_000):
        now_ms, head_ms = 0.0, warm_up.head_ms(5, chance)
        while now_ms < head_ms + length_ms:
            took_ms = latency_ms()
            if now_ms >= head_ms:
                done += 1
                long += took_ms > (short_ms + long_ms) / 2
            now_ms += took_ms
        measured_ms += length_ms
    assert long / done == pytest.approx(share, rel=0.02)
    mean_ms = share * long_ms + (1 - share) * short_ms
    assert done / measured_ms == pytest.approx(1 / mean_ms, rel=0.02)


def turn(number: int, begin_ms: int, *, transactions: int = 80, all: int = 100, point: int = 0) -> Turn:
    """100 ms from begin: 10 ms settling, 80 ms measured, 10 ms draining; readings 1 ms outside."""
    return Turn(
        point=point,
        deal=1,
        round=number,
        position=1,
        opened_ns=(begin_ms - 1) * MS,
        start_ns=begin_ms * MS,
        measure_ns=(begin_ms + 10) * MS,
        end_ns=(begin_ms + 90) * MS,
        drained_ns=(begin_ms + 100) * MS,
        closed_ns=(begin_ms + 101) * MS,
        transactions=transactions,
        first_half=transactions // 2,
        all=all,
    )


def samples(metric: str, readings: dict[int, float]) -> dict[str, list[object]]:
    rows = Rows("samples")
    for t_ms, value in readings.items():
        rows.add(t_ns=t_ms * MS, monitor="m", entity="e", metric=metric, value=value)
    return rows.columns()


def series(columns: object) -> list[tuple[float, float]]:
    return [(t / MS, v) for t, v in zip(columns["t_ns"], columns["value"], strict=True)]  # type: ignore[index]


def test_a_counter_grows_by_the_measured_share_of_its_own_turns() -> None:
    # between the turns another option uses 1000 of the same server
    readings = {0: 5.0, 1000: 10.0, 1100: 110.0, 1300: 1110.0, 1400: 1160.0, 2000: 1200.0}
    own = own_samples(samples("used_total", readings), [turn(1, 1000), turn(2, 1300)])
    # 80 % of 100, then 80 % of 50; the measure phase begins at 1010 ms and is 160 ms long
    assert series(own) == [(0, 0), (1010, 0), (1090, 80), (1170, 120), (2000, 120)]


def test_a_gauge_keeps_what_was_read_in_its_own_turns() -> None:
    readings = {0: 1.0, 1050: 2.0, 1200: 99.0, 1300: 3.0, 1340: 4.0, 2000: 5.0}
    own = own_samples(samples("filled", readings), [turn(1, 1000), turn(2, 1300)])
    assert series(own) == [(0, 1), (1050, 2), (1090, 3), (1120, 4), (2000, 5)]


def test_each_load_point_has_its_own_measure_phase() -> None:
    turns = [turn(1, 1000), turn(1, 5000, point=1)]
    readings = {999: 0.0, 1100: 100.0, 3000: 500.0, 4999: 600.0, 5100: 700.0}
    own = own_samples(samples("used_total", readings), turns)
    found = series(own)
    assert found[:2] == [(1010, 0), (1090, 80)] and found[-2][0] == 5010
    assert found[-1][1] - found[-2][1] == pytest.approx(80)


@given(
    growth=st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=8),
    start=st.integers(0, 10**6),
)
def test_growth_between_turns_never_counts(growth: list[tuple[int, int]], start: int) -> None:
    """Own growth of each turn, and that of the others after it."""
    readings: dict[int, float] = {}
    value, turns = float(start), []
    for number, (own, others) in enumerate(growth):
        begin_ms = 1000 + 1000 * number
        turns.append(turn(number, begin_ms, transactions=100, all=100))
        readings[begin_ms] = value
        value += own
        readings[begin_ms + 100] = value
        value += others
    found = series(own_samples(samples("used_total", readings), turns))
    assert found[-1][1] - found[0][1] == pytest.approx(sum(own for own, _ in growth))
    assert found[-1][0] - found[0][0] == pytest.approx(80 * len(growth))


def test_a_study_in_turns_has_runs_as_long_as_their_turns(lab: Lab) -> None:
    path = lab.folder / "study.toml"
    path.write_text(
        SMALL.format(subject="null", blocks=2, measure_s=0.6).replace("[plan]", "[plan]\nturn_ms = 100")
    )
    planned = lab.run("run", path, "--dry-run")
    assert "within a block the options take turns of 100 ms" in planned.stderr
    done = lab.run("run", path, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    bundle = Bundle(lab.bundle)
    measured = bundle.columns(
        "select run, (end_ns - start_ns) / 1e9 as s from phases where phase = 'measure' order by run"
    )["s"].tolist()
    # turns are made longer for the slow transactions of a busy machine, for both options of a block
    assert measured[::2] == measured[1::2] and all(0.599 < s < 3 for s in measured), measured
    turns = bundle.columns(
        "select run, count(*) as n, sum(transactions) as done from turns group by run order by run"
    )
    number = turns["n"].tolist()
    assert number[::2] == number[1::2] and max(number) <= 6, number
    counted = bundle.columns(
        "select run, sum(count) as n from throughput where statement = 'transaction'"
        " group by run order by run"
    )
    assert counted["n"].tolist() == turns["done"].tolist() and (counted["n"] > 0).all()
    clients = bundle.columns("select run, sum(transactions) as n from clients group by run order by run")
    assert clients["n"].tolist() == turns["done"].tolist()
    overlaps = bundle.columns(
        "select count(*) as n from turns a join turns b on a.run <> b.run join runs x on a.run = x.run"
        " join runs y on b.run = y.run and x.block = y.block"
        " where a.start_ns < b.drained_ns and b.start_ns < a.drained_ns"
    )
    assert overlaps["n"].tolist() == [0]
    # the server is one process for both options: each run counts the CPU of its own turns
    rates = bundle.evidence().view("rates")
    busy = rates["rate_per_s"][(rates["entity"] == "server") & (rates["metric"] == "cpu_ns_total")]
    assert len(busy) == 4 and (busy > 0).all() and (busy < 1.2e9).all()
    # on the axis of all runs each has its measured time, whatever the others of its block took
    drawn = read_series(bundle, estimated_runs(bundle.evidence())).throughput
    begins = [min(row["t_s"] for row in drawn if row["run"] == run) for run in range(1, 5)]
    assert begins == pytest.approx([sum(measured[:run]) for run in range(4)])
    assert not lab.ours()
    # what the machine permits may have changed since
    shutil.rmtree(lab.bundle / "runs" / "0004")
    prepared = replace(PreparedStudy.of(path.read_text(), str(path)), one_after_another="there is no room")
    with pytest.raises(InputError, match="finished runs took turns and cannot now: there is no room"):
        resume(lab.bundle, prepared, Progress(Console()), Interrupts(lambda: None))


def test_counts_that_sessions_keep_to_themselves_are_complete_at_the_end_of_each_turn(lab: Lab) -> None:
    study = SMALL.format(subject="postgres", blocks=1, measure_s=0.6).replace(
        "[plan]", "[plan]\nturn_ms = 100"
    )
    (lab.folder / "study.toml").write_text(study + "postgres = 1\n")
    done = lab.run("run", lab.folder / "study.toml", "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    counted = Bundle(lab.bundle).columns(
        "select any_value(done) as done, max(value) filter (metric = 'commits_total') as commits,"
        " max(value) filter (metric = 'rows_returned_total') as rows from samples join"
        " (select run, sum(transactions) as done from turns group by run) using (run)"
        " where monitor = 'postgres' group by run"
    )
    # a lookup returns one row; the rest is of the monitors, a few hundred rows of the catalog
    assert len(counted["done"]) == 2 and (counted["done"] > 100).all()
    assert (counted["commits"] >= counted["done"]).all() and (counted["rows"] >= counted["done"]).all()
    assert (counted["commits"] < counted["done"] + 100).all()


def test_that_sleeps_for_latches_are_not_recorded_in_turns_is_a_notice_with_its_mend() -> None:
    unknown = Server("localhost", 5432, "lab", "lab", "postgres")
    server = replace(unknown, latch_names=lambda pid: {})
    study = study_of({"f": "AB"})
    ((code, text),) = not_in_turns(study, server)
    assert code == "not-in-turns" and "sleeps are not recorded" in text and "turns = false" in text
    unwanted = study.model_copy(update={"probes": study.probes.model_copy(update={"latches": False})})
    for known, of in ((unwanted, server), (study, unknown), (study, None)):
        assert not [*not_in_turns(known, of)]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("[plan]", "[plan]\nturns = false", "the study says so"),
        ('named = "named"', 'left = "left"', "statements left open"),
        ("[plan]", "[plan]\ntransactions = 100", "a number of transactions ends each run"),
        ("[workload]", "[workload]\narrival = { kind = 'open', rate_per_s = 10 }", "arrive at a rate"),
        pytest.param(
            "[plan]", "[probes]\nscheduling_trace_s = 1\n[plan]", "the kernel's probes", marks=needs_root
        ),
    ],
)
def test_the_plan_says_why_runs_come_one_after_another(lab: Lab, old: str, new: str, why: str) -> None:
    path = lab.folder / "study.toml"
    path.write_text(SMALL.format(subject="null", blocks=2, measure_s=0.3).replace(old, new))
    planned = lab.run("run", path, "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert "one run after another within a block, because" in planned.stderr and why in planned.stderr
    path.write_text(path.read_text().replace("turns = false\n", "").replace("[plan]", "[plan]\nturns = true"))
    if "turns = false" not in new:
        refused = lab.run("run", path, "--dry-run")
        assert refused.returncode == 2 and "plan.turns: turns are not possible" in refused.stderr


class Shares:
    """Keeps what share of each block was done after each turn."""

    def __init__(self) -> None:
        self.blocks: list[list[float]] = [[]]

    def run_started(self, label: str, block: int, slot: int) -> None: ...

    def tick(self, tps: float) -> None: ...

    def turned(self, share: float) -> None:
        self.blocks[-1].append(share)

    def noted(self, lines: object) -> None: ...

    def run_ended(self, label: str, block: int, tps: float, status: str) -> None:
        if self.blocks[-1]:
            self.blocks.append([])


def test_a_block_whose_turns_were_made_longer_is_done_at_the_whole_of_it(tmp_path: Path) -> None:
    # a turn holds several transactions of each client: these need more than a turn of 250 ms
    text = SMALL.format(subject="null", blocks=2, measure_s=0.6).replace(
        'kind = "null"', 'kind = "null"\nsettings = { delay_us = 150_000 }'
    )
    # by name new connections would need longer than is measured
    text = text.replace('"named"', '"unnamed"')
    shares = Shares()
    start(PreparedStudy.of(text, "slow"), tmp_path / "b", shares, Interrupts())
    longest = Bundle(tmp_path / "b").columns("select max(end_ns - start_ns) as ns from turns")["ns"][0]
    assert longest > 300 * MS
    *blocks, rest = shares.blocks
    assert rest == [] and len(blocks) == 2
    for block in blocks:
        assert block == sorted(block) and block[0] == 0 and block[-1] == pytest.approx(1)


def test_a_server_that_dies_in_a_turn_makes_the_block_void(lab: Lab) -> None:
    path = lab.folder / "study.toml"
    path.write_text(SMALL.format(subject="null", blocks=1, measure_s=30))
    process = lab.start("run", path, "--bundle", lab.bundle)
    for _ in range(2):
        lab.wait_for(lambda: lab.ours("stub_serve") and len(lab.ours("engines.process load")) == 2, "a block")
        time.sleep(1)
        os.kill(lab.ours("stub_serve")[0], signal.SIGKILL)
        lab.wait_for(lambda: not lab.ours("engines.process load"), "the end of the block")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "block 1 failed twice" in err
    rows = Bundle(lab.bundle).columns("select status, cause from runs")
    assert list(rows["status"]) == ["void", "void"] and "connection" in str(rows["cause"][0])
    assert not lab.ours()
