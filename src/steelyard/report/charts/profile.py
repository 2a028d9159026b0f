"""The profile: functions side by side, flame graphs, and every option's table as kernprof printed it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.kernel import ProfileRow
from steelyard.bundle.series.columns import Series, rows
from steelyard.report.charts.figure import Figure, Panel
from steelyard.report.charts.flame import flame
from steelyard.report.charts.waits import beside, keyed, longest
from steelyard.report.presented.presented import Presented
from steelyard.report.table import Column, Row, Table, percent, plain_table, whole

_FUNCTIONS_MAX = 16
_OPTIONS_MAX = 12
_TOP = 12
# the flame graphs leave out who waits for work, and who is no part of the study
_FOREIGN = "other"
_NOT_DRAWN = ("idle", _FOREIGN)


def profile(presented: Presented) -> Figure | None:
    """None without a profile."""
    judgement, work = presented.judgement, presented.cost_of
    if not judgement.profile:
        return None
    by_option = Table((), list(map(_row, judgement.profile))).each("option")
    shown = [o for o in (judgement.baseline, presented.leading) if o and o in by_option] or list(by_option)[
        :1
    ]
    kernprof = {f"{option}, as kernprof prints it": _kernprof(by_option[option]) for option in by_option}
    if all(row.us_per_txn is None for row in judgement.profile):
        return _published(kernprof)
    return Figure(
        name="profile",
        title="Where CPU time goes",
        caption="Stacks sampled by the clock on every CPU while measuring, all runs pooled."
        " A flame graph's width is CPU time"
        f" per {work}, callers below; yellow: the program, blue: the kernel; a click on a frame"
        " shows it alone. Between two options colour is the difference: blue less (−), orange more (+)."
        " Idle time is in the tables only, and processes that are no part of the study in each option's"
        " own. Programs built without frame pointers show the function that ran, but not all of its callers.",
        panels=tuple(_panels(shown, presented.series, work)),
        table=_side_by_side({option: by_option[option] for option in shown}, work),
        layout="tabs",
        open=True,
        numbers="Functions, " + (" and ".join(shown)),
        folded=tuple(list(kernprof.items())[:_OPTIONS_MAX]),
    )


def _published(kernprof: dict[str, Table]) -> Figure:
    """Samples alone, without the rate, which was not published."""
    (first, table), *others = kernprof.items()
    return Figure(
        name="profile",
        title="Where CPU time goes",
        caption="Samples of the clock on all CPUs: user mode as one, then functions of the kernel.",
        panels=(),
        table=table,
        open=True,
        numbers=first,
        folded=tuple(others),
    )


def _panels(shown: Sequence[str], series: Series, work: str) -> list[Panel]:
    stacks: dict[str, list[tuple[str, str, float]]] = {option: [] for option in shown}
    for row in rows(series.stacks):
        if row["option"] in stacks and row["role"] not in _NOT_DRAWN and row["us_per_txn"]:
            stacks[row["option"]].append((row["role"], row["stack"], float(row["us_per_txn"])))
    drawn = [(f"profile-{i}", option, flame(stacks[option], work)) for i, option in enumerate(shown)]
    if len(shown) == 2 and stacks[shown[0]]:
        title = f"{shown[1]} against {shown[0]}"
        drawn.insert(0, ("profile-difference", title, flame(stacks[shown[1]], work, stacks[shown[0]])))
    return [Panel(name, title, spec) for name, title, spec in drawn if spec]


def _row(row: ProfileRow) -> Row:
    name = f"{row.function} (kernel)" if row.in_kernel else row.function
    return {**vars(row), "name": name, "us": row.us_per_txn or 0.0}


def _side_by_side(shown: Mapping[str, Table], work: str) -> Table:
    """Functions with the most CPU time under either option, and the difference."""
    found = keyed(shown, "role", "function", "in_kernel")
    times = longest(found)
    ours = [key for key in times if key[0] != _FOREIGN]
    most = sorted(ours, key=lambda key: -times[key])[:_FUNCTIONS_MAX]
    each = (Column("% of samples", "share", percent), Column(f"CPU per {work}", "us", _us))
    return beside((Column("function", "name"), Column("role")), each, found, most, {"share": 0.0, "us": 0.0})


def _us(value: float) -> str:
    return fmt.quantity(value, "us") if value else "0"


def _kernprof(mine: Table) -> Table:
    """Total, user mode as one, and the functions of the kernel, idle among them."""
    in_kernel = mine.where(in_kernel=True).each("function")
    kernel = {function: sum(part.values("samples")) for function, part in in_kernel.items()}
    total, user = sum(mine.values("samples")), sum(mine.where(in_kernel=False).values("samples"))
    top = sorted(kernel.items(), key=lambda item: -item[1])[:_TOP]
    shares = [("USER", user), *top]
    return plain_table(
        ("function", "samples", "% of all"),
        [
            ("TOTAL_SAMPLES", whole(total), ""),
            *((name, whole(samples), _percent(samples, total)) for name, samples in shares),
        ],
    )


def _percent(part: int, total: int) -> str | None:
    return f"{100 * part / total:.1f} %" if total else None
