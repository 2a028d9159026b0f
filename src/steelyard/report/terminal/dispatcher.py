"""One thread's life under dispatch tables, in words: what it got, and why that changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest


@dataclass(frozen=True)
class Step:
    """A change of level or quantum. level: of the class's table; priority: global."""

    t_ns: int
    reason: str
    before: int
    level: int
    priority: int
    quantum_ms: float


@dataclass(frozen=True)
class Life:
    """All that became of one thread under one table in so many seconds."""

    table: str
    steps: tuple[Step, ...]
    seconds: float


def life_lines(life: Life) -> list[str]:
    """Lines of text, headings first: when, level, quantum, why."""
    lines = [f"{'at':>9}  {'level':>5}  {'quantum':>8}  why"]
    for step, times in _folded(life.steps):
        again = f" ({times} times)" if times > 1 else ""
        quantum = f"{step.quantum_ms:g} ms"
        lines.append(f"{_when(step.t_ns):>9}  {step.level:5}  {quantum:>8}  {_why(step)}{again}")
    return [*lines, f"{'':9}  {_end(life)}"]


def beside(one: Life, other: Life) -> list[str]:
    """Two lives in two columns, and where they first part."""
    left, right = ([life.table, *life_lines(life)] for life in (one, other))
    width = max(map(len, left))
    lines = [f"{a:{width}}  |  {b}".rstrip() for a, b in zip_longest(left, right, fillvalue="")]
    return [*lines, "", _parting(one, other)]


def _parting(one: Life, other: Life) -> str:
    """`at 13 it used its slice: next 6 under extended, 3 under standard`: the first difference."""
    pairs = list(zip(one.steps, other.steps, strict=False))
    for a, b in pairs:
        if (a.reason, a.before) != (b.reason, b.before):
            return f"under {one.table} {_short(a)}, under {other.table} {_short(b)}"
        if a.level != b.level:
            return f"{_short(a)}: next {a.level} under {one.table}, {b.level} under {other.table}"
    for a, b in pairs:
        if a.quantum_ms != b.quantum_ms:
            slices = f"{a.quantum_ms:g} ms under {one.table}, {b.quantum_ms:g} ms under {other.table}"
            return f"the same levels; at {a.level} its slice is {slices}"
    return f"the same life under {one.table} and {other.table}"


def _short(step: Step) -> str:
    match step.reason:
        case "start":
            return f"it starts at {step.level}"
        case "expired":
            return f"at {step.before} it used its slice"
        case "waited":
            return f"at {step.before} it went too long without a full slice (t = {_when(step.t_ns)})"
        case _:
            return f"at {step.before} it was due for a rise on its return to user mode"


def _why(step: Step) -> str:
    match step.reason:
        case "start":
            return "a new thread"
        case "expired" if step.before == step.level:
            return f"slice used at {step.before}, stays there"
        case "expired":
            return f"slice used at {step.before} (tqexp)"
        case "waited":
            return f"maxwait over at {step.before}, off the CPU (lwait)"
        case "returned":
            return f"maxwait over at {step.before}, on the CPU (slpret)"
        case _:
            return step.reason


def _folded(steps: Sequence[Step]) -> Iterator[tuple[Step, int]]:
    """Each step, and how often it comes in a row."""
    for _, alike in groupby(steps, lambda step: (step.reason, step.before, step.level)):
        run = list(alike)
        yield run[0], len(run)


def _end(life: Life) -> str:
    if len(life.steps) == 1:
        return f"nothing changes in {life.seconds:g} s"
    levels = [step.level for step in life.steps]
    edge = min if levels[-1] <= levels[0] else max
    first = next(step for step in life.steps if step.level == edge(levels))
    return f"{edge.__name__}imum {edge(levels)} after {_when(first.t_ns)}; simulated: {life.seconds:g} s"


def _when(t_ns: int) -> str:
    return f"{t_ns // 1_000_000:,} ms"
