"""The profile: functions side by side, flame graphs, and every option's table as kernprof printed it."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard import quantities as fmt
from steelyard.analysis.judgement.kernel import ProfileRow
from steelyard.bundle.series.columns import Series, rows
from steelyard.report.charts.figure import Figure, Panel
from steelyard.report.charts.kernel.flame import flame
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table, difference

_FUNCTIONS_MAX = 16
_OPTIONS_MAX = 12
_TOP = 12
# the flame graphs leave out who waits for work, and who is no part of the study
_FOREIGN = "other"
_NOT_DRAWN = ("idle", _FOREIGN)


def figure(presented: Presented) -> Figure | None:
    """None without a profile."""
    judgement, work = presented.judgement, presented.cost_of
    if not judgement.profile:
        return None
    by_option: dict[str, list[ProfileRow]] = {}
    for row in judgement.profile:
        by_option.setdefault(row.option, []).append(row)
    shown = [o for o in (judgement.baseline, presented.leading) if o in by_option] or list(by_option)[:1]
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
        table=_side_by_side(shown, by_option, work),
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


def _side_by_side(shown: Sequence[str], by_option: dict[str, list[ProfileRow]], work: str) -> Table:
    """Functions with the most CPU time under either option, and the difference."""
    tables = [{(r.role, r.function, r.in_kernel): r for r in by_option[option]} for option in shown]
    weights: dict[tuple[str, str, bool], float] = {}
    for table in tables:
        for key, row in table.items():
            if row.role == _FOREIGN:
                continue
            weights[key] = max(weights.get(key, 0.0), row.us_per_txn or 0.0)
    most = sorted(weights, key=lambda key: -weights[key])[:_FUNCTIONS_MAX]
    head = ["function", "role"]
    for option in shown:
        head += [f"% of samples, {option}", f"CPU per {work}, {option}"]
    if len(shown) == 2:
        head.append("difference")
    lines: list[tuple[str, ...]] = []
    for key in most:
        role, function, in_kernel = key
        cells = [f"{function} (kernel)" if in_kernel else function, role]
        values: list[float] = []
        for table in tables:
            row = table.get(key)
            values.append((row.us_per_txn or 0.0) if row else 0.0)
            cells.append(fmt.significant(100 * row.share) if row else "0")
            cells.append(fmt.quantity(values[-1], "us") if values[-1] else "0")
        if len(shown) == 2:
            cells.append(difference(values[1] - values[0], "us"))
        lines.append(tuple(cells))
    return Table(tuple(head), tuple(lines))


def _kernprof(mine: Sequence[ProfileRow]) -> Table:
    """Total, user mode as one, and the functions of the kernel, idle among them."""
    total = sum(row.samples for row in mine)
    user = sum(row.samples for row in mine if not row.in_kernel)
    kernel: dict[str, int] = {}
    for row in mine:
        if row.in_kernel:
            kernel[row.function] = kernel.get(row.function, 0) + row.samples
    top = sorted(kernel.items(), key=lambda item: -item[1])[:_TOP]
    lines = [("TOTAL_SAMPLES", f"{total:,}", ""), ("USER", f"{user:,}", _percent(user, total))]
    lines += [(name, f"{samples:,}", _percent(samples, total)) for name, samples in top]
    return Table(("function", "samples", "% of all"), tuple(lines))


def _percent(part: int, total: int) -> str:
    return f"{100 * part / total:.1f} %" if total else fmt.MISSING
