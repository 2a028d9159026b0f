"""How it was measured, as groups of named facts."""

from steelyard import quantities as fmt
from steelyard.bundle.series.read import MonitorCost
from steelyard.report.about import About, Phases, Texts
from steelyard.report.presented import Presented

# share of the variance between blocks from which longer blocks hardly help
_MOSTLY = 0.5


def facts_of(presented: Presented, blocks: str) -> list[tuple[str, Texts]]:
    """Groups by title. blocks: whole ones, as text."""
    about, phases = presented.about, presented.about.phases
    plan = {about.points_are: ", ".join(map(str, phases.clients))}
    if about.load_points and set(about.load_points) != set(phases.clients):
        plan[f"{about.points_are} connected"] = ", ".join(map(str, about.load_points))
    measured = {
        "blocks": (
            f"{blocks} of {phases.blocks} planned, each holding every option once in random order"
            f" (seed {phases.seed})"
        ),
        "each run": f"{_measured(phases)}, {fmt.duration(phases.cool_down_s)} cool-down",
        "runs": _runs(about),
    }
    if about.subject != "recording":
        plan |= measured
    server = {"subject": about.subject, "version": about.server_version}
    groups = (
        ("Plan", plan),
        ("Precision", _precision(presented)),
        ("Equal work", presented.judgement.equal_work),
        ("Machine", about.machine),
        ("Kernels", about.kernels),
        ("Schema", about.schemas),
        (about.who_works.capitalize(), {name: text for name, text in server.items() if text}),
        ("Load engine", about.engine if about.subject != "recording" else dict[str, str]()),
        ("Monitors and their own cost", {monitor.name: _cost(monitor) for monitor in about.monitors}),
    )
    return [(title, facts) for title, facts in groups if facts]


def _runs(about: About) -> str:
    """`18 of 22 count: blocks with 3 disturbed runs were run again`."""
    if about.runs_all <= about.runs_done:
        return f"{about.runs_done} done"
    counted = {"disturbed": about.runs_disturbed, "void": about.runs_void}
    kinds = [fmt.count(number, f"{kind} run") for kind, number in counted.items() if number]
    again = f": blocks with {fmt.listed(kinds)} were run again" if kinds else ""
    return f"{about.runs_done} of {about.runs_all} count{again}"


def _precision(presented: Presented) -> dict[str, str]:
    """What the study could tell apart, and where its scatter comes from."""
    levels = presented.judgement.precision.levels
    facts = {"resolution": presented.resolution}
    if levels is not None:
        rounds, deals, blocks = (
            fmt.significant(percent, 2)
            for percent in (levels.round_percent, levels.deal_percent, levels.block_percent)
        )
        facts["turns"] = (
            f"{levels.rounds} rounds per block, one turn of each option per round in random order; new"
            f" connections {fmt.count(levels.deals, 'time')} per block"
        )
        facts["unit of the intervals"] = (
            "the block, which has new servers: what differs between starts stays the same for all its rounds"
        )
        facts["scatter of the ratio"] = (
            f"{levels.option}: {rounds} % between rounds, {deals} % between sets of connections, {blocks} %"
            " between blocks (standard deviations, each beyond what the one before explains)"
        )
        longer = "" if levels.of_blocks > _MOSTLY else "plan.measure_s or "
        facts["narrower intervals"] = (
            f"raise {longer}plan.blocks: {fmt.percent(levels.of_blocks)} of the variance of a block's ratio"
            " is between blocks, as rounds and connections average out within one"
        )
    return {name: text for name, text in facts.items() if text}


def _measured(phases: Phases) -> str:
    if phases.own_end:
        return "until the last instance ends"
    length = fmt.duration(phases.measure_s) if phases.transactions is None else f"{phases.transactions:,} txn"
    return f"{fmt.duration(phases.warm_up_s)} warm-up, {length} measure"


def _cost(monitor: MonitorCost) -> str:
    rate = [] if monitor.interval_s is None else [f"every {fmt.duration(monitor.interval_s)}"]
    percent, reading_ns = monitor.cpu_percent, monitor.reading_ns
    cpu = [] if percent is None else [f"{fmt.significant(percent)} % of one core"]
    took = [] if reading_ns is None else [f"{fmt.quantity(reading_ns, 'ns')} per reading"]
    return ", ".join([*rate, *cpu, *took])
