"""The profile: functions side by side, flame graphs, and every option's table as kernprof printed it.

Gregg, The Flame Graph (2016), and Differential Flame Graphs (2014): width is time, colour the change.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from steelyard import quantities as fmt
from steelyard.bundle.series.read import Series
from steelyard.report.charts.figure import Figure, Panel, Spec, of_tables
from steelyard.report.charts.marks import FROM, SCALE, TO, layer, nominal, quantitative, view, zoomable
from steelyard.report.charts.waits import beside, keyed, longest, time_us
from steelyard.report.presented import Presented
from steelyard.report.table import Column, Table, difference, percent, plain_table, whole

_FUNCTIONS_MAX = 16
_OPTIONS_MAX = 12
_TOP = 12
# the flame graphs leave out who waits for work, and who is no part of the study
_FOREIGN = "other"
_NOT_DRAWN = ("idle", _FOREIGN)
_KERNEL_MARK = "_[k]"
_ROW_PIXELS = 19
_DEPTH_MAX = 36
_NARROWEST = 0.001  # of the whole width; narrower frames are not drawn
_LABELLED = 0.025  # of the width that is shown
_LABEL_MAX = 90
# dark letters read on all of these, on a white page and on a black one
_LETTERS = "#1B1F24"
_FILLS = {"role": "#B8BFC9", "user": "#F0B429", "kernel": "#7CC8F2"}
_FOUND = "#E58CD9"
# the page's script sets it
_SEARCH = "search"
_IS_FOUND = f"{_SEARCH} && indexof(lower(datum.name), lower({_SEARCH})) >= 0"
_LESS, _SAME, _MORE = "#7CC8F2", "#D9DDE2", "#F2915A"


def profile(presented: Presented) -> Figure | None:
    """None without a profile."""
    judgement, work = presented.judgement, presented.cost_of
    if not judgement.profile:
        return None
    rows = [
        {**vars(row), "name": row.function + " (kernel)" * row.in_kernel, "us": row.us_per_txn or 0.0}
        for row in judgement.profile
    ]
    by_option = Table((), rows).each("option")
    shown = [o for o in (judgement.baseline, presented.leading) if o and o in by_option] or list(by_option)[
        :1
    ]
    kernprof = [(f"{option}, as kernprof prints it", _kernprof(mine)) for option, mine in by_option.items()]
    if all(row.us_per_txn is None for row in judgement.profile):
        # the rate was not published
        return of_tables(
            "profile",
            "Where CPU time goes",
            "Samples of the clock on all CPUs: user mode as one, then functions of the kernel.",
            kernprof,
        )
    functions = "Functions, " + (" and ".join(shown))
    return of_tables(
        "profile",
        "Where CPU time goes",
        "Stacks sampled by the clock on every CPU while measuring, all runs pooled."
        " A flame graph's width is CPU time"
        f" per {work}, callers below; yellow: the program, blue: the kernel; a click on a frame"
        " shows it alone. Between two options colour is the difference: blue less (−), orange more (+)."
        " Idle time is in the tables only, and processes that are no part of the study in each option's"
        " own. Programs built without frame pointers show the function that ran, but not all of its callers.",
        [
            (functions, _side_by_side({option: by_option[option] for option in shown}, work)),
            *kernprof[:_OPTIONS_MAX],
        ],
        _panels(shown, presented.series, work),
        layout="tabs",
    )


def _panels(shown: Sequence[str], series: Series, work: str) -> list[Panel]:
    stacks: dict[str, list[tuple[str, str, float]]] = {option: [] for option in shown}
    for row in series.stacks:
        if row["option"] in stacks and row["role"] not in _NOT_DRAWN and row["us_per_txn"]:
            stacks[row["option"]].append((row["role"], row["stack"], float(row["us_per_txn"])))
    drawn = [(f"profile-{i}", option, _flame(stacks[option], work)) for i, option in enumerate(shown)]
    if len(shown) == 2 and stacks[shown[0]]:
        title = f"{shown[1]} against {shown[0]}"
        drawn.insert(0, ("profile-difference", title, _flame(stacks[shown[1]], work, stacks[shown[0]])))
    return [Panel(name, title, spec) for name, title, spec in drawn if spec]


def _side_by_side(shown: Mapping[str, Table], work: str) -> Table:
    """Functions with the most CPU time under either option, and the difference."""
    found = keyed(shown, "role", "function", "in_kernel")
    times = longest(found)
    ours = [key for key in times if key[0] != _FOREIGN]
    most = sorted(ours, key=lambda key: -times[key])[:_FUNCTIONS_MAX]
    each = (Column("% of samples", "share", percent), Column(f"CPU per {work}", "us", time_us))
    return beside((Column("function", "name"), Column("role")), each, found, most, {"share": 0.0, "us": 0.0})


def _kernprof(mine: Table) -> Table:
    """Total, user mode as one, and the functions of the kernel, idle among them."""
    in_kernel = mine.where(in_kernel=True).each("function")
    kernel = {function: sum(part.values("samples")) for function, part in in_kernel.items()}
    total, user = sum(mine.values("samples")), sum(mine.where(in_kernel=False).values("samples"))
    top = sorted(kernel.items(), key=lambda item: -item[1])[:_TOP]
    return plain_table(
        ("function", "samples", "% of all"),
        [
            ("TOTAL_SAMPLES", whole(total), ""),
            *(
                (name, whole(samples), f"{100 * samples / total:.1f} %" if total else None)
                for name, samples in [("USER", user), *top]
            ),
        ],
    )


@dataclass
class _Node:
    """A frame: CPU time of all stacks through it. before: the same under the baseline."""

    name: str
    kind: str
    value: float = 0.0
    before: float = 0.0
    below: "dict[str, _Node]" = field(default_factory=dict[str, "_Node"])


_Stacks = Iterable[tuple[str, str, float]]  # role, folded stack, us of CPU per transaction


def _flame(stacks: _Stacks, work: str, baseline: _Stacks | None = None) -> Spec | None:
    """One flame graph, role at its foot, coloured by change from a baseline. work: what CPU time is per."""
    root = _Node("", "role")
    for role, stack, us in stacks:
        for node in _path(root, role, stack):
            node.value += us
    for role, stack, us in baseline or ():
        for node in _path(root, role, stack):
            node.before += us
    if root.value <= 0:
        return None
    rows = _rows(root, baseline is not None)
    deepest = max(int(row["depth"]) for row in rows)
    height = {"scale": {"domain": [0, deepest + 1]}, "axis": None}
    x = quantitative("start", f"µs of CPU per {work}", scale=SCALE)
    tips = [
        nominal(name, title)
        for name, title in (("name", "function"), ("text", f"CPU per {work}"), ("change", "change"))
        if name != "change" or baseline is not None
    ]
    label = "name" if baseline is None else "label"
    layers = [_frames(x, height, tips), _names(x, height, tips, label)]
    graph = view((deepest + 1) * _ROW_PIXELS, layers, rows, params=[{"name": _SEARCH, "value": ""}])
    return zoomable(graph, 0, root.value, "frame")


def _frames(x: Spec, height: Spec, tips: list[Spec]) -> Spec:
    found: Spec = {"test": _IS_FOUND, "value": _FOUND}
    encoding = {
        "x": x,
        "x2": {"field": "end"},
        "y": quantitative("depth", None, **height),
        "y2": {"field": "top"},
        "color": {"field": "fill", "type": "nominal", "scale": None, "condition": found},
        "tooltip": tips,
    }
    return layer(
        "rect", encoding, stroke="#FFFFFF", strokeWidth=0.4, strokeOpacity=0.6, clip=True, cursor="pointer"
    )


def _names(x: Spec, height: Spec, tips: list[Spec], label: str) -> Spec:
    """Where there is room; a frame that begins left of what is shown is named where it comes into sight."""
    encoding = {
        "x": {**x, "field": "at"},
        "y": quantitative("middle", None, **height),
        "text": nominal(label, None),
        "tooltip": tips,
    }
    limit = {"expr": "max(1, datum.part * width - 5)"}
    return {
        **layer(
            "text",
            encoding,
            align="left",
            baseline="middle",
            dx=3,
            fontSize=10.5,
            color=_LETTERS,
            cursor="pointer",
            limit=limit,
        ),
        "transform": [
            {"calculate": f"max(datum.start, {FROM})", "as": "at"},
            {"calculate": f"(min(datum.end, {TO}) - datum.at) / ({TO} - {FROM})", "as": "part"},
            {"filter": f"datum.part >= {_LABELLED}"},
        ],
    }


def _path(root: _Node, role: str, stack: str) -> Iterable[_Node]:
    node = root
    yield node
    # the thread's name stands first: of one role there are few
    for depth, frame in enumerate((role, *stack.split(";")[1 : _DEPTH_MAX + 1])):
        kind = "role" if depth == 0 else "kernel" if frame.endswith(_KERNEL_MARK) else "user"
        node = node.below.setdefault(frame, _Node(frame.removesuffix(_KERNEL_MARK), kind))
        yield node


def _rows(root: _Node, differs: bool) -> list[Spec]:
    # the strongest colour is that of a function: a role's sum would pale them all
    functions = [node for role in root.below.values() for node in role.below.values()]
    most = max((abs(node.value - node.before) for node in functions), default=0.0)
    rows: list[Spec] = []
    waiting = [(root, -1, 0.0)]
    while waiting:
        node, depth, start = waiting.pop()
        if depth >= 0:
            rows.append(_frame(node, depth, start, root.value, most if differs else None))
        for child in sorted(node.below.values(), key=lambda child: child.name):
            if child.value >= _NARROWEST * root.value:
                waiting.append((child, depth + 1, start))
            start += child.value
    return rows


def _frame(node: _Node, depth: int, start: float, whole: float, most: float | None) -> Spec:
    change = node.value - node.before
    signed = difference(change, "us") if change else "0"
    return {
        "start": start,
        "end": start + node.value,
        "depth": float(depth),
        "top": depth + 0.95,
        "middle": depth + 0.48,
        "name": node.name[:240],
        "text": f"{fmt.quantity(node.value, 'us')}, {fmt.percent(node.value / whole)}",
        "change": f"{signed} (baseline {fmt.quantity(node.before, 'us')})",
        "label": f"{signed} {node.name[:_LABEL_MAX]}",
        "fill": _FILLS[node.kind] if most is None else _shade(change / most if most else 0.0),
    }


def _shade(change: float) -> str:
    """From less over the same to more, -1 to 1."""
    part = min(1.0, abs(change)) ** 0.5
    ends = _SAME, _LESS if change < 0 else _MORE
    low, high = ([int(end[i : i + 2], 16) for i in (1, 3, 5)] for end in ends)
    return "#" + "".join(f"{round(a + (b - a) * part):02X}" for a, b in zip(low, high, strict=True))
