"""Hold times of known forms, and the latch that explains what was counted: for tests of predictions."""

from __future__ import annotations

import math

import numpy as np
from latch_formula import predict

from steelyard.analysis.latches.model import Holds, Network, Prediction


def constant(ns: float) -> Holds:
    """Every hold lasts as long."""
    return Holds.of([ns], [1.0])


def exponential(mean_ns: float, atoms: int = 500) -> Holds:
    """Many short, few long: atoms of equal share, each the mean of its part."""
    edges = np.linspace(0, 1, atoms + 1)
    rest = 1 - edges
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(rest > 0, rest * (1 - np.log(rest)), 0.0)
    return Holds.of(mean_ns * atoms * (above[:-1] - above[1:]), np.full(atoms, 1 / atoms))


def paused(holds: Holds, share: float, pause_ns: float) -> Holds:
    """The same, but this share of holders loses its CPU (or faults) for pause_ns."""
    return Holds.of(
        np.concatenate([holds.ns, holds.ns + pause_ns]),
        np.concatenate([holds.share * (1 - share), holds.share * share]),
    )


def calibrated(gets_per_s: float, misses_per_get: float, workers: int, shape: Holds) -> Network:
    """The network that has this throughput and these misses: its hold and think times are solved for.

    shape: any hold times of the right form; only their scale is found. Raises ValueError where no
    such network exists (no misses, or more than its workers can cause).
    """
    low, high = 1e-9, 1.0  # hold as a part of the cycle without waits

    def at(part: float) -> tuple[Network, Prediction]:
        network = Network(shape.scaled(part / shape.mean_ns), 1.0 - part)
        return network, predict(network, workers)

    if not 0 < misses_per_get < at(high)[1].misses_per_get:
        raise ValueError(f"no latch gives {misses_per_get:.4g} misses a get with {workers} workers")
    for _ in range(60):
        middle = math.sqrt(low * high)
        few = at(middle)[1].misses_per_get < misses_per_get
        low, high = (middle, high) if few else (low, middle)
    network, last = at(high)
    scale = last.gets_per_s / gets_per_s
    return Network(network.holds.scaled(scale), network.think_ns * scale)
