"""How the scheduler treated each role: run-queue waits, slices, sleeps, switches, migrations."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.report.charts.figure import Figure
from steelyard.report.presented.presented import Presented
from steelyard.report.text_table import Table

_OURS = ("server", "engine", "monitors", "kernel")


def figure(presented: Presented) -> Figure | None:
    """None where scheduling was not watched. The baseline's and the leading option's roles first."""
    judgement = presented.judgement
    if not judgement.scheduling:
        return None
    first = (judgement.baseline, presented.leading)
    lines = {
        (row.option, row.role): (
            f"{row.option}, {row.role}",
            fmt.significant(row.voluntary_per_s),
            fmt.significant(row.involuntary_per_s),
            fmt.significant(row.migrations_per_s),
            _three(row.run_queue_ns),
            _three(row.slice_ns),
            _three(row.off_cpu_ns),
        )
        for row in judgement.scheduling
    }
    head = (
        "option, role",
        "voluntary switches/s",
        "involuntary/s",
        "migrations/s",
        "run-queue wait: median, p99, maximum",
        "time slice",
        "off CPU",
    )
    shown = tuple(line for (option, role), line in lines.items() if option in first and role in _OURS)
    return Figure(
        name="scheduling",
        title="Scheduling",
        caption="From the scheduler's own events, recorded in a diagnostic phase after each measured one:"
        " recording costs about a tenth of the throughput, so these figures are not part of the measured"
        " results. All runs pooled."
        " Off CPU: from a voluntary switch until the thread ran again.",
        panels=(),
        table=Table(head, shown),
        open=True,
        numbers="Baseline and leading option",
        folded=(("All options and roles", Table(head, tuple(lines.values()))),),
    )


def _three(values: list[float] | None) -> str:
    return fmt.MISSING if values is None else ", ".join(fmt.quantity(value, "ns") for value in values)
