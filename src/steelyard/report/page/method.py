"""How it was measured, as groups of named facts."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.bundle.series.facts import MonitorCost
from steelyard.report.about.about import About, Phases


def facts_of(about: About, blocks: str) -> list[tuple[str, dict[str, str]]]:
    """Groups by title. blocks: whole ones, as text."""
    phases = about.phases
    plan = {about.points_are: ", ".join(str(number) for number in phases.clients)}
    measured = {
        "blocks": (
            f"{blocks} of {phases.blocks} planned, each holding every option once in random order"
            f" (seed {phases.seed})"
        ),
        "each run": (
            f"{fmt.duration(phases.warm_up_s)} warm-up, {_measured(phases)} measure, "
            f"{fmt.duration(phases.cool_down_s)} cool-down"
        ),
        "runs": f"{about.runs_done} done"
        + (f", {about.runs_void} void and redone" if about.runs_void else ""),
    }
    if about.subject != "recording":
        plan |= measured
    server = {"subject": about.subject, "version": about.server_version}
    monitors = {monitor.name: _cost(monitor) for monitor in about.monitors}
    groups = (
        ("Plan", plan),
        ("Machine", dict(about.machine)),
        ("Kernels", dict(about.kernels)),
        ("Schema", dict(about.schemas)),
        ("Server", {name: text for name, text in server.items() if text}),
        ("Load engine", dict(about.engine) if about.subject != "recording" else {}),
        ("Monitors and their own cost", monitors),
    )
    return [(title, facts) for title, facts in groups if facts]


def _measured(phases: Phases) -> str:
    return fmt.duration(phases.measure_s) if phases.transactions is None else f"{phases.transactions:,} txn"


def _cost(monitor: MonitorCost) -> str:
    rate = [] if monitor.interval_s is None else [f"every {fmt.duration(monitor.interval_s)}"]
    percent = monitor.cpu_percent
    return ", ".join([*rate, *([] if percent is None else [f"{fmt.significant(percent)} % of one core"])])
