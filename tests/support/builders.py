"""Judgements, series and facts like those of real studies, made from a seed."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

from steelyard.analysis.comparison.block_table import estimated_runs
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import (
    Comparison,
    CostDifference,
    Effect,
    Estimate,
    Fairness,
    Headlines,
    Judgement,
    Metric,
    Notice,
    Outcome,
)
from steelyard.analysis.judgement.verdict import Verdict
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.read import MonitorCost, Series, read_series
from steelyard.report.about import About, FactorFacts, Phases
from steelyard.report.about.provenance import about_bundle

THROUGHPUT = Metric("throughput_per_s", "throughput", "transactions/s", "higher")
CPU = Metric("server_cpu_us_per_txn", "server CPU", "us/txn", "lower")
P50 = Metric("p50_ns", "latency p50", "ns", "lower")
P99 = Metric("p99_ns", "latency p99", "ns", "lower")
METRICS = (THROUGHPUT, P50, P99, CPU)
COSTS = (
    Metric("server_user_us_per_txn", "server user", "us/txn", "lower"),
    Metric("server_system_us_per_txn", "server system", "us/txn", "lower"),
    Metric("server_switches_voluntary_per_txn", "server switches voluntary", "1/txn", "lower"),
)
MARGIN = 0.03

Case = tuple[Judgement, Series, About]


def of_bundle(bundle: Bundle) -> Case:
    """What `steelyard report` makes of a bundle."""
    evidence = bundle.evidence()
    return judge(evidence), read_series(bundle, estimated_runs(evidence)), about_bundle(bundle)


def two() -> Case:
    """Two options, one factor, one point: the winner is clear."""
    return build("handles", {"HDL": {"NAMED": 0.0, "NONE": -0.35}}, baseline="NONE", clients=(8,))


def scaling() -> Case:
    """Four options at three points; one of them cannot be told from the baseline."""
    factors = {"handle": {"HDL0": 0.0, "HDL1": 0.31}, "plan": {"PLA0": 0.0, "PLA1": 0.012}}
    return build("statements", factors, baseline="HDL0_PLA0", clients=(4, 16, 64), blocks=6)


def matrix() -> Case:
    """54 combinations less one: a factorial with long labels."""
    factors = {
        "handle": {"S157T_DYN0": -0.1, "S157T_DYN1": 0.3, "S157P_DYN1": 0.24},
        "text": {"TXTI": 0.1, "TXTN": 0.0, "TXTU": -0.28},
        "statistics": {"ST0M": 0.04, "ST5M": 0.0, "ST20M": -0.03},
        "plan": {"PLA0": 0.0, "PLA1": 0.02},
    }
    return build("matrix", factors, baseline="", clients=(8,), blocks=4, without=1)


def hostile() -> Case:
    """Every text that a user gives tries to break out of the page."""
    evil = {"</script><script>alert(1)</script>": 0.2, "<!--<img src=x onerror=alert(2)>": 0.0}
    judgement, series, about = build(
        "evil", {"f": evil}, baseline="<!--<img src=x onerror=alert(2)>", clients=(2,), blocks=2
    )
    question = '"><script src="https://evil.example/x.js"></script></title> {{ 7 * 7 }} ?'
    return (
        Judgement(**{**vars(judgement), "question": question}),
        series,
        About(**{**vars(about), "question": question, "machine": {"CPU": "<b onclick=x()>bold</b>"}}),
    )


def build(
    name: str,
    factors: Mapping[str, Mapping[str, float]],
    *,
    baseline: str,
    clients: tuple[int, ...],
    blocks: int = 6,
    without: int = 0,
) -> Case:
    """factors: the effect of each level on log throughput."""
    chance = random.Random(name)
    combined = list(itertools.product(*(levels.items() for levels in factors.values())))
    combined = combined[: len(combined) - without]
    truth = {"_".join(code for code, _ in combo): sum(effect for _, effect in combo) for combo in combined}
    levels = {
        "_".join(code for code, _ in combo): dict(zip(factors, (code for code, _ in combo), strict=True))
        for combo in combined
    }
    options = tuple(truth)
    baseline = baseline or options[0]
    metrics = {
        label: {
            THROUGHPUT.name: 21_400 * math.exp(effect),
            CPU.name: 36.5 * math.exp(-effect * 0.9),
            P50.name: 161_000 * math.exp(-effect),
            P99.name: 402_000 * math.exp(-effect * 1.2),
        }
        for label, effect in truth.items()
    }
    judgement = _judgement(chance, name, options, baseline, metrics, levels, clients, blocks)
    series = _series(chance, options, metrics, clients, blocks)
    return judgement, series, _about(name, judgement.question, factors, levels, clients, blocks)


def _judgement(
    chance: random.Random,
    name: str,
    options: tuple[str, ...],
    baseline: str,
    metrics: Mapping[str, Mapping[str, float]],
    levels: Mapping[str, Mapping[str, str]],
    clients: tuple[int, ...],
    blocks: int,
) -> Judgement:
    estimates: list[Estimate] = []
    comparisons: list[Comparison] = []
    points: list[int | None] = [None, *clients] if len(clients) > 1 else [None]
    for option in options:
        for metric in METRICS:
            for point in points:
                grown = _grown(metric, point)
                value = metrics[option][metric.name] * grown
                estimates.append(
                    Estimate(metric.name, option, point, value, value / 1.011, value * 1.011, blocks)
                )
                if option != baseline:
                    ratio = metrics[option][metric.name] / metrics[baseline][metric.name]
                    half = chance.uniform(0.008, 0.02)
                    comparisons.append(_comparison(metric, option, baseline, point, ratio, half, blocks))
    best = max(options, key=lambda option: metrics[option][THROUGHPUT.name])
    gain = metrics[best][THROUGHPUT.name] / metrics[baseline][THROUGHPUT.name]
    won = best != baseline
    cpu = [metrics[option][CPU.name] for option in (baseline, best)]
    costs: list[CostDifference] = []
    for option in options:
        if option == baseline:
            continue
        before, after = metrics[baseline][CPU.name], metrics[option][CPU.name]
        for part, metric_name in ((0.68, "server_user_us_per_txn"), (0.32, "server_system_us_per_txn")):
            difference = (after - before) * part
            costs.append(
                CostDifference(
                    metric_name, option, baseline, "us/txn", before * part, after * part,
                    difference - 0.7, difference + 0.6, part,
                )
            )  # fmt: skip
        costs.append(
            CostDifference(
                "server_switches_voluntary_per_txn", option, baseline, "1/txn", 1.94, 1.02, -1.0, -0.84, None
            )
        )
    factors = list(next(iter(levels.values())))
    return Judgement(
        question=f"Which way of handling statements serves most, for study {name}?",
        baseline=baseline,
        options=options,
        metrics=(*METRICS, *COSTS),
        headlines=Headlines(work=THROUGHPUT, cpu=CPU, p50=P50, p99=P99),
        verdict=Verdict(
            outcome="winner" if won else "inconclusive",
            winner=best if won else None,
            headline=f"{best} wins: {gain - 1:.1%} more throughput than {baseline}, the baseline."
            if won
            else "Nothing can be said.",
            interval=f"95 % interval {gain * 0.985 - 1:.1%} to {gain * 1.015 - 1:.1%}, {blocks} blocks.",
            consequence="27.2 % less server CPU per transaction [25.1 to 29.2 %].",
            reasons=(
                f"The server spends {cpu[1]:.1f} µs of CPU per transaction instead of {cpu[0]:.1f} µs; two "
                "thirds of the difference is user time: parsing and planning are saved.",
                "It is woken 1.02 times per transaction instead of 1.94 times.",
            ),
        ),
        estimates=tuple(estimates),
        comparisons=tuple(comparisons),
        effects=tuple(_effects(metrics, levels, factors)),
        fairness=tuple(
            Fairness(option, clients[-1], 0.9962, 0.9999, 0.91, 1.19, 0.062, place == 1)
            for place, option in enumerate(options)
        ),
        costs=tuple(costs),
        notices=(
            Notice(
                "gauge-full", "The statement cache was full (100 %) from second 4 on.", options[-1], (2, 5)
            ),
            Notice("drift", "Throughput fell by 0.4 % a run over the study; blocks take this out."),
        ),
    )


def _grown(metric: Metric, point: int | None) -> float:
    if point is None:
        return 1.0
    return {"throughput_per_s": 1.0, "server_cpu_us_per_txn": 1.0}.get(metric.name, point / 8) * (
        point / (point + 6) * 1.4 if metric is THROUGHPUT else 1.0
    )


def _comparison(
    metric: Metric, option: str, baseline: str, point: int | None, ratio: float, half: float, blocks: int
) -> Comparison:
    low, high = ratio * math.exp(-half), ratio * math.exp(half)
    outcome: Outcome = "inconclusive"
    if low > 1 - MARGIN and high < 1 + MARGIN:
        outcome = "equivalent"
    elif low > 1 or high < 1:
        outcome = "better" if (ratio > 1) == (metric.better == "higher") else "worse"
    p = 0.0004 if outcome in ("better", "worse") else 0.41
    return Comparison(metric.name, option, baseline, point, ratio, low, high, p, blocks, MARGIN, outcome)


def _effects(
    metrics: Mapping[str, Mapping[str, float]],
    levels: Mapping[str, Mapping[str, str]],
    factors: Sequence[str],
) -> list[Effect]:
    out: list[Effect] = []
    for metric in (THROUGHPUT, CPU, P99):
        logs = {option: math.log(values[metric.name]) for option, values in metrics.items()}
        grand = sum(logs.values()) / len(logs)
        total = sum((value - grand) ** 2 for value in logs.values()) * 1.04 or 1.0
        for factor in factors:
            grouped: dict[str, list[float]] = defaultdict(list)
            for option, value in logs.items():
                grouped[levels[option][factor]].append(value)
            means = {code: sum(v) / len(v) for code, v in grouped.items()}
            explained = sum(len(grouped[code]) * (mean - grand) ** 2 for code, mean in means.items())
            out.append(
                Effect(
                    metric.name,
                    (factor,),
                    explained / total,
                    0.9 * explained / total,
                    min(1.1 * explained / total, 1.0),
                    0.0001,
                    {(code,): math.exp(mean - grand) for code, mean in means.items()},
                )
            )
        for pair in itertools.combinations(factors, 2):
            out.append(Effect(metric.name, pair, 0.004, 0.0, 0.02, 0.2, {("A", "B"): 1.01}))
    return out


def _series(
    chance: random.Random,
    options: tuple[str, ...],
    metrics: Mapping[str, Mapping[str, float]],
    clients: tuple[int, ...],
    blocks: int,
) -> Series:
    tps: dict[str, list[object]] = {"option": [], "t_s": [], "run": [], "tps": []}
    cpu: dict[str, list[object]] = {"run": [], "option": [], "t_s": [], "role": [], "percent": []}
    at, run = 0.0, 0
    for block in range(blocks):
        order = list(options)
        chance.shuffle(order)
        for option in order if block % 2 == 0 else order[::-1]:
            run += 1
            for _ in range(10):
                rate = metrics[option][THROUGHPUT.name] * chance.gauss(1, 0.02)
                for name, value in (("option", option), ("t_s", at), ("run", run), ("tps", rate)):
                    tps[name].append(value)
                shares = (("server", 78), ("engine", 14), ("monitors", 0.6), ("idle", 100))
                for role, share in shares:
                    values = (run, option, at, role, share * chance.gauss(1, 0.03))
                    for name, value in zip(cpu, values, strict=True):
                        cpu[name].append(value)
                at += 1.0
            at += 0.5
    gauges: list[tuple[object, ...]] = []
    for place, option in enumerate(options):
        for second in range(0, 11):
            full = min(100.0, 20 + second * (4 + 9 * (place % 4)))
            gauges.append(
                (option, float(second), "postgres", "statements", "cache_entries", full, 100.0, "", "memory")
            )
            lost = max(0.0, second * (4 + 9 * (place % 4)) - 80) * 30
            gauges.append(
                (option, float(second), "postgres", "statements", "evicted", lost, math.nan, "", "memory")
            )
            memory = 8.4e6 * (1 + 0.02 * place) + second * 82_000 * (place % 3)
            gauges.append(
                (
                    option,
                    float(second),
                    "processes",
                    "server",
                    "memory_bytes",
                    memory,
                    math.nan,
                    "bytes",
                    "memory",
                )
            )
    statements = [
        (option, statement, metrics[option][THROUGHPUT.name] * part)
        for option in options
        for statement, part in (("transaction", 1.0), ("lookup", 0.8), ("update", 0.2))
    ]
    served = [
        (option, points, number, int(metrics[option][THROUGHPUT.name] * 10 / points * chance.gauss(1, 0.04)))
        for option in options
        for points in clients
        for number in range(points)
    ]  # fmt: skip
    quantiles = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999)
    latency = [
        (
            option,
            points,
            q,
            metrics[option][P50.name] * points / 8 * (0.4 + 0.9 * (-math.log10(1 - q)) ** 1.35 + q),
        )
        for option in options
        for points in clients
        for q in quantiles
    ]
    return Series(
        throughput=_rows(tuple(tps), list(zip(*tps.values(), strict=True))),
        cpu=_rows(tuple(cpu), list(zip(*cpu.values(), strict=True))),
        gauges=_rows(
            ("option", "t_s", "monitor", "entity", "metric", "value", "limit", "unit", "group"), gauges
        ),
        statements=_rows(("option", "statement", "per_s"), statements),
        clients=_rows(("option", "clients", "client", "transactions"), served),
        latency=_rows(("option", "clients", "quantile", "ns"), latency),
    )


def _rows(names: Sequence[str], rows: Sequence[tuple[object, ...]]) -> list[dict[str, object]]:
    """With None for NaN."""
    return [
        {name: None if value != value else value for name, value in zip(names, row, strict=True)}
        for row in rows
    ]


def _about(
    name: str,
    question: str,
    factors: Mapping[str, Mapping[str, float]],
    levels: Mapping[str, Mapping[str, str]],
    clients: tuple[int, ...],
    blocks: int,
) -> About:
    return About(
        name=name,
        question=question,
        when="2026-03-14T09:26:53Z",
        bundle=f"bundles/{name}-2026-03-14",
        steelyard_version="0.1.0",
        phases=Phases(clients, 2.0, 10.0, 0.5, blocks, 1),
        runs_done=len(levels) * blocks,
        runs_void=1,
        runs_all=len(levels) * blocks + 1,
        subject="postgres",
        server_version="PostgreSQL 18.1 on x86_64-pc-linux-gnu",
        report=f"bundles/{name}-2026-03-14/report.html",
        next_command=f"steelyard sql bundles/{name}-2026-03-14 'select * from runs'",
        machine={
            "cpu": "Intel Xeon Platinum 8370C @ 2.80GHz",
            "cores": "2",
            "kernel": "Linux 6.1.0-31-amd64",
            "virtualisation": "kvm",
            "governor": "not readable",
            "mitigations": "spectre_v2: Enhanced IBRS; mds: not affected",
        },
        server_settings={"shared_buffers": "128MB", "fsync": "off", "plan_cache_mode": "auto"},
        engine={"threads": "1", "arrival": "closed loop, no think time", "CPU per transaction": "4.1 µs"},
        monitors=(MonitorCost("host", 1.0, 0.12), MonitorCost("postgres", 1.0, 0.31)),
        factors=tuple(
            FactorFacts(factor, "session", {code: f"{factor} as {code.lower()}" for code in codes})
            for factor, codes in factors.items()
        ),
        option_levels=levels,
    )
