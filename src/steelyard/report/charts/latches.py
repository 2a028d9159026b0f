"""Latches as counters saw them: tables, misses, sleeps and hand-overs; and those of a live server."""

from dataclasses import replace

from steelyard.analysis.judgement import Judgement
from steelyard.report.about import About
from steelyard.report.charts.figure import Figure, Panel, of_tables
from steelyard.report.charts.marks import bare_axis, colour, nominal, quantitative, scaled, shape
from steelyard.report.charts.shapes import intervals, lines
from steelyard.report.presented import Palette, Presented
from steelyard.report.table import Column, Table, percent, table_of, time, whole

_ALWAYS = 6  # the counters of the published table are shown even where they are not available
_LATCHES_MAX = 8
_UNSEEN = "Neither gets (--latch-count counts them) nor misses of these latches were recorded"
_COUNTED = (
    "Gets were counted by sampling, in a diagnostic phase that is not measured because counting slows the"
    " server down; misses cannot be counted"
)


def latches(presented: Presented) -> Figure | None:
    """None where no latch was recorded. One table per option, the baseline's open."""
    judgement, about, palette = presented.judgement, presented.about, presented.palette
    rows = [row for row in judgement.latches if not row.sleeps_only]
    if not rows:
        return None
    table = table_of(
        rows,
        Column(about.points_are, "clients"),
        Column("gets", say=whole),
        Column("misses", say=whole),
        Column("spin gets", "spin_gets", whole),
        Column("sleeps", say=whole),
        Column("time asleep", "wait_ns", time),
        Column("time of all gets", "get_ns", time),
        Column("% misses per get", "misses_per_get", percent),
        Column("% sleeps per miss", "sleeps_per_miss", percent),
        Column(f"gets per {about.work_is}", "gets_per_txn"),
        Column("wait per sleep", "wait_per_sleep_ns", time),
        Column("hand-overs/s", "hand_overs_per_s"),
        Column("hold", "hold_ns", time),
        Column("measured gets/s", "gets_per_s"),
    )
    latches = table.each("option", "latch")
    first = next((key for key in latches if key[0] == judgement.baseline), None)
    order = sorted(latches, key=lambda key: key != first)
    tables = [(f"{option}, {latch}", latches[option, latch].filled(_ALWAYS)) for option, latch in order]
    single = {"numbers": "Numbers"} if len(tables) == 1 else {}
    drawn = (
        _ratios(table, palette, "misses", "misses_per_get", "predicted_misses_per_get"),
        _ratios(table, palette, "sleeps", "sleeps_per_miss"),
        _hand_overs(table, palette),
    )
    return of_tables(
        "latches",
        f"Latch {rows[0].latch} under {rows[0].option}" if single else "Latches",
        "All runs pooled: counters are sums, rates and ratios those of the sums."
        " A get that fails at first is a miss; a miss whose spins fail sleeps. n/a: not available,"
        " which is not zero. Hold: "
        + (
            "mean of those measured, with what preemption added."
            if any(row.hold_is_measured for row in rows)
            else f"the time that would explain the misses, given the gets with one {about.point_is} less."
        ),
        tables,
        filter(None, drawn),
        layout="grid",
        key="line",
        notes=_beyond(judgement, about),
        **single,
    )


def _beyond(judgement: Judgement, about: About) -> tuple[str, ...]:
    over = [point.clients for one in judgement.scaling for point in one.points if point.oversubscribed]
    if not over:
        return ()
    return (
        f"From {about.count(min(over))} on there are more of them than CPUs:"
        " what is missed and slept there is also waiting for a holder that lost its CPU, not parallelism.",
    )


def _hand_overs(table: Table, palette: Palette) -> Panel | None:
    """A latch that batches looks fast because it hands over rarely: both at once."""
    drawn = [row for row in table.data if row["hand_overs_per_s"] and row["gets_per_s"]]
    if len(drawn) < 2:
        return None
    spec = lines(
        replace(table, data=drawn),
        scaled(drawn, "hand_overs_per_s", "hand-overs/s", log=True, **bare_axis(tickCount=5)),
        scaled(drawn, "gets_per_s", "gets/s", log=True, **bare_axis(tickCount=5)),
        ("option", "clients", "hand_overs_per_s:.3~s", "gets_per_s:.3~s"),
        height=200,
        palette=palette,
        size=60,
        joined=False,
    )
    return Panel("latches-hand-overs", "Gets over hand-overs to another", spec)


def _ratios(table: Table, palette: Palette, name: str, *fields: str) -> Panel | None:
    """fields: measured and, where it is drawn, predicted."""
    title = table.column(fields[0]).title
    rows = [
        {
            "option": row["option"],
            "latch": f"{row['option']}, {row['latch']}",
            "clients": row["clients"],
            "kind": kind,
            "value": 100 * value,
        }
        for row in table.data
        for kind, field in zip(("measured", "predicted"), fields, strict=False)
        if (value := row[field]) is not None
    ]
    if len({row["clients"] for row in rows}) < 2:
        return None
    points = table.column("clients")
    dashes = {"domain": ["measured", "predicted"], "range": [[1, 0], [5, 4]]}
    spec = lines(
        Table((points, Column(title, "value")), rows),
        quantitative("clients", points.title, axis={"format": "d", "tickMinStep": 1}),
        scaled(rows, "value", None, tickCount=5, format="~r"),
        ("latch", "kind", "clients", "value"),
        height=200,
        look={"detail": [{"field": "latch"}, {"field": "kind"}]},
        palette=palette,
        size=50,
        lines_only={"strokeDash": nominal("kind", None, scale=dashes, legend=None)},
    )
    return Panel(f"latches-{name}", title, spec)


def sleeps(presented: Presented) -> Figure | None:
    """None where neither gets nor sleeps were recorded. One table per option, the baseline's open."""
    judgement, about = presented.judgement, presented.about
    rows = [row for row in judgement.latches if row.sleeps_only]
    counted = any(row.gets_per_txn is not None for row in rows)
    if not counted and not any(row.sleeps for row in rows):
        return None
    table = table_of(
        rows,
        Column("latch"),
        Column(about.points_are, "clients"),
        Column(f"gets per {about.work_is}", "gets_per_txn"),
        Column("misses"),
        Column("sleeps", say=whole),
        Column("time asleep", "wait_ns", time),
        Column(f"sleeps per {about.work_is}", "sleeps_per_txn"),
        Column(f"asleep per {about.work_is}", "wait_ns_per_txn", time),
        Column("wait per sleep", "wait_per_sleep_ns", time),
        Column("% sleeps per get", "sleeps_per_get", percent),
    )
    # with what is drawn; no sleep has no length
    rows = [
        {
            **row,
            "us": (row["wait_ns_per_txn"] or 0.0) / 1e3,
            "wait_per_sleep_ns": row["wait_per_sleep_ns"] if row["sleeps"] else "",
        }
        for row in table.data
    ]
    table = replace(table, data=rows)
    panel = _times_asleep(table, about, presented.palette)
    tables = {
        option: replace(
            mine,
            data=sorted(
                mine.data,
                key=lambda row: (row["clients"], -(row["wait_ns"] or 0.0), -(row["gets_per_txn"] or 0.0)),
            ),
        )
        for option, mine in table.each("option").items()
    }
    return of_tables(
        "sleeps",
        "Gets of the server's latches, and sleeps for them" if counted else "Sleeps for the server's latches",
        f"Of all the server's processes, all runs pooled: sums over runs, not the geometric"
        f" means of the table of costs. {_COUNTED if counted else _UNSEEN}:"
        " sleeps are a lower bound of misses, because a miss that gets its latch before it sleeps is not"
        " counted.",
        sorted(tables.items(), key=lambda named: named[0] != judgement.baseline),
        filter(None, [panel]),
        key="line" if panel else "none",
    )


def _times_asleep(table: Table, about: About, palette: Palette) -> Panel | None:
    """Time asleep per transaction by latch, with the most clients; the foremost latches."""
    most = max(row["clients"] for row in table.data)
    slept = [row for row in table.data if row["clients"] == most and row["sleeps"]]
    if not slept:
        return None
    longest = replace(table, data=slept).each("latch")
    weight = {latch: max(row["us"] for row in mine.data) for latch, mine in longest.items()}
    order = sorted(weight, key=lambda latch: -weight[latch])[:_LATCHES_MAX]
    return Panel(
        "sleeps",
        f"Time asleep with {about.count(most)}",
        intervals(
            replace(table, data=[row for row in slept if row["latch"] in order]),
            nominal("latch", None, sort=order, axis={"labelLimit": 170, "grid": True}),
            scaled(slept, "us", f"asleep, µs per {about.work_is}", grid=True, tickCount=6),
            ("option", "latch", "wait_ns_per_txn"),
            70,
            px=30 * len(order) + 40,
            look={"color": colour(palette), "shape": shape(palette)},
            palette=palette,
        ),
    )
