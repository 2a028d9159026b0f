"""The cost of a context switch and of a cache miss on this machine, with intervals and rejected values.

Method and sources: crates/dispatch/src/calibrate.rs, docs/explanation/dispatcher.md.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard import _core

_LINE_BYTES = 64
_SMALLEST_SET_BYTES = 4096
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
# no memory is faster or slower: a result outside is a fault of the measurement
_PLAUSIBLE_LATENCY_NS = (5.0, 5000.0)
# no core has more outstanding misses; where a line costs so little, it did not come from memory
_MOST_OVERLAP = 64


@dataclass(frozen=True)
class Estimate:
    """A median with the 95 % interval of the median."""

    ns: float
    low_ns: float
    high_ns: float
    n: int


@dataclass(frozen=True)
class SwitchCost:
    """One switch with a working set in each of the two processes; verdict: accepted, unclear, rejected."""

    size_bytes: int
    switch: Estimate
    walk_ns: float
    verdict: str
    cause: str


@dataclass(frozen=True)
class Calibration:
    """The machine's values for a study of the dispatcher. None: rejected, `notices` give the reason."""

    cpu: int
    chase_bytes: int
    switches: tuple[SwitchCost, ...]
    memory_latency: Estimate | None
    direct: Estimate | None
    mlp: float | None
    notices: tuple[str, ...]


def last_level_cache_bytes(folder: Path = _CACHES) -> int | None:
    """Size of the largest cache that the kernel reports; None when it reports none."""
    units = {"K": 1 << 10, "M": 1 << 20}
    sizes: list[int] = []
    for place in folder.glob("index*/size"):
        text = place.read_text(encoding="ascii").strip()
        if text[:-1].isdigit() and text[-1] in units:
            sizes.append(int(text[:-1]) * units[text[-1]])
    return max(sizes, default=None)


def working_sets(cache_bytes: int | None, quick: bool) -> list[int]:
    """From 4 KiB in steps of four to four times the last-level cache, at most 256 MiB (quick: 1 MiB)."""
    limit = (1 << 20) if quick else min(4 * (cache_bytes or (8 << 20)), 256 << 20)
    sizes = [_SMALLEST_SET_BYTES]
    while sizes[-1] < limit:
        sizes.append(min(4 * sizes[-1], limit))
    return sizes


def calibrate(cpu: int, repetitions: int, quick: bool, on_step: Callable[[str], None]) -> Calibration:
    """Measures on one CPU. on_step: called with the name of each step. Raises OSError."""
    cache_bytes = last_level_cache_bytes()
    chase_bytes = (64 << 20) if quick else max(64 << 20, min(8 * (cache_bytes or 0), 512 << 20))
    on_step(f"pointer chase over {chase_bytes >> 20} MiB")
    chase = Estimate(**json.loads(_core.calibrate_memory(cpu, chase_bytes, repetitions)))
    switches: list[tuple[int, Estimate, float]] = []
    for size_bytes in working_sets(cache_bytes, quick):
        on_step(f"two processes, {size_bytes >> 10} KiB each")
        for cost in json.loads(_core.calibrate_switches(cpu, [size_bytes], repetitions)):
            switches.append((cost["bytes"], Estimate(**cost["switch"]), cost["walk_ns"]))
    return judge(cpu, chase_bytes, switches, chase)


def judge(
    cpu: int, chase_bytes: int, switches: Sequence[tuple[int, Estimate, float]], chase: Estimate
) -> Calibration:
    """Rejects impossible results: negative costs, latencies that no memory has."""
    costs = tuple(_judged(*switch) for switch in switches)
    notices = [f"{cost.size_bytes >> 10} KiB: {cost.cause}" for cost in costs if cost.cause]
    low_ns, high_ns = _PLAUSIBLE_LATENCY_NS
    latency = chase if low_ns <= chase.ns <= high_ns else None
    if latency is None:
        notices.append(f"latency of {chase.ns:.3g} ns rejected: memory has {low_ns:g} to {high_ns:g} ns")
    elif wide := _wide(chase):
        notices.append(f"memory latency {wide}")
    direct = costs[0].switch if costs and costs[0].verdict == "accepted" else None
    if direct is None:
        notices.append("no direct cost of a switch: that of the smallest set is not significantly above 0")
    mlp = _overlap(costs, latency, direct)
    if mlp is not None and mlp > _MOST_OVERLAP:
        notices.append(f"overlap of {mlp:,.0f} misses rejected: the data came from a cache")
        mlp = None
    return Calibration(cpu, chase_bytes, costs, latency, direct, mlp, tuple(notices))


def _judged(size_bytes: int, switch: Estimate, walk_ns: float) -> SwitchCost:
    if switch.ns <= 0:
        cause = f"{switch.ns:,.0f} ns rejected: the cost of a switch cannot be negative; the machine is noisy"
        return SwitchCost(size_bytes, switch, walk_ns, "rejected", cause)
    if switch.low_ns <= 0:
        cause = f"not significantly different from 0 ({switch.low_ns:,.0f} to {switch.high_ns:,.0f} ns)"
        return SwitchCost(size_bytes, switch, walk_ns, "unclear", cause)
    return SwitchCost(size_bytes, switch, walk_ns, "accepted", _wide(switch))


def _wide(estimate: Estimate) -> str:
    spread = (estimate.high_ns - estimate.low_ns) / estimate.ns
    return f"interval of {spread:.0%} of the median: repeat on a quieter machine" if spread > 0.5 else ""


def _overlap(costs: Sequence[SwitchCost], latency: Estimate | None, direct: Estimate | None) -> float | None:
    """Misses that the machine overlaps: latency over the reload of one line, where a line costs most."""
    if latency is None or direct is None:
        return None
    line_ns = [
        (cost.switch.ns - direct.ns) / (cost.size_bytes / _LINE_BYTES)
        for cost in costs[1:]
        if cost.verdict == "accepted" and cost.switch.low_ns > direct.high_ns
    ]
    most_ns = max(line_ns, default=0.0)
    return max(1.0, latency.ns / most_ns) if most_ns > 0 else None
