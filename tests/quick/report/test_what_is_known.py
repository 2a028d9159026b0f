"""The report says what was judged and what is known: the ranking of an open loop, load points, gauges."""

import io
from dataclasses import replace

import builders
from rich.console import Console

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.bundle.series.read import Series
from steelyard.report.charts import figures
from steelyard.report.page.html import facts_of, render, speaker
from steelyard.report.presented import Presented
from steelyard.report.table import Cell
from steelyard.report.tables.options import full_table, short_table
from steelyard.report.terminal.verdict import print_verdict


def open_loop() -> Presented:
    """The option with less throughput has the lower p99, which is what an open loop is judged by."""
    study = study_of({"f": "AB"}, rate_per_s=1000)
    truth = {"A": Truth(p99_ns=4e6), "B": Truth(p99_ns=2e6)}
    return Presented(judge(evidence_of(study, truth, noise=0.002)), Series(), builders.two()[2])


def printed(presented: Presented) -> str:
    out = io.StringIO()
    print_verdict(presented, Console(file=out, width=80))
    return out.getvalue()


def test_the_throughput_of_an_engine_at_its_limit_has_no_mark_of_a_winner() -> None:
    study = study_of({"f": "AB"}).model_copy(update={"host": {"engine.cpu_quota": 0.1}})
    truth = {"A": Truth(engine_us=9.0), "B": Truth(engine_us=7.5, throughput_per_s=12_000.0)}
    presented = Presented(judge(evidence_of(study, truth, noise=0.002)), Series(), builders.two()[2])
    assert [(row.label, row.mark) for row in presented.ranking] == [("B", "≠"), ("A", "·")]
    assert presented.legend.startswith("throughput: ≠ different")
    said = printed(presented)
    assert "≠ B" in said and "▲" not in said.partition("throughput: ≠")[0]


def test_the_options_of_an_open_loop_are_ranked_and_marked_by_p99() -> None:
    presented = open_loop()
    assert [(row.label, row.mark) for row in presented.ranking] == [("B", "▲"), ("A", "·")]
    assert presented.legend.startswith("latency p99: ▲ better")
    assert presented.order == "from the lowest latency p99 to the highest"
    assert presented.judged[0].name == "p99_ns"
    assert "differences in latency p99 of" in presented.resolution


def test_both_tables_of_an_open_loop_have_the_ratio_of_p99() -> None:
    presented = open_loop()
    short, long = short_table(presented), full_table(presented)
    assert (short.head[-1], long.head[-1]) == ("ratio of p99", "ratio of latency p99 to the baseline")
    assert short.rows[0][-1].startswith("0.5") and short.rows[1][-1] == "baseline"
    assert long.rows[0][-1] == short.rows[0][-1]
    assert "ratio of p99" in printed(presented)
    assert "from the lowest latency p99 to the highest; latency p99: ▲" in render(presented)


def test_a_closed_loop_is_ranked_by_its_work() -> None:
    presented = Presented(*builders.two())
    assert presented.order == "from the fastest to the slowest"
    assert short_table(presented).head[2] == "ratio"


def test_the_plan_says_how_many_clients_were_connected() -> None:
    judgement, series, about = builders.scaling()
    about = replace(about, load_points=(4, 16, 50))
    presented = Presented(judgement, series, about)
    plan = dict(facts_of(presented, "6"))["Plan"]
    assert (plan["clients"], plan["clients connected"]) == ("4, 16, 64", "4, 16, 50")


def test_a_server_at_an_address_is_not_said_to_be_reset() -> None:
    judgement, series, about = builders.two()
    ours, foreign = (
        render(Presented(judgement, series, replace(about, resets_server=resets))) for resets in (True, False)
    )
    assert "once in each block, the server reset before it." in ours
    assert (
        "once in each block, on the server at its address, which is neither restarted nor reset." in foreign
    )


def test_a_label_within_another_word_is_no_label() -> None:
    say = speaker(["pool", "per-connection"])
    assert say("pool (= pool-of-threads) against one-thread-per-connection") == (
        "<code>pool</code> (= pool-of-threads) against one-thread-per-connection"
    )
    assert say("Under per-connection.") == "Under <code>per-connection</code>."


def test_a_percentage_of_linear_has_no_interval_without_width() -> None:
    assert str(Cell(51.6, 51.6, 51.6)) == "51.6"
    assert "[" in str(Cell(51.6, 50.0, 53.0))
    assert str(Cell(1.2, 1.2, 1.2, "ratio")) == "1.20 [1.20 to 1.20]"


def test_a_gauge_alone_in_its_chart_is_named_and_its_table_is_of_measure() -> None:
    judgement, series, about = builders.two()
    alone = [row for row in series.gauges if row["metric"] == "cache_entries"]
    first, last = (end(row["t_s"] for row in alone) for end in (min, max))
    alone = [
        {
            **row,
            "measured": first + 1 <= row["t_s"] < last,
            "value": 1e6 if row["t_s"] == last else row["value"],  # after measure
        }
        for row in alone
    ]
    drawn = {f.name: f for f in figures(Presented(judgement, replace(series, gauges=alone), about))}
    figure = next(f for name, f in drawn.items() if "gauges" in name)
    assert figure.caption.startswith("Cache entries, statements: ")
    assert "0 is the start of measure. The table is of the measure phases." in figure.caption
    assert not [cell for row in figure.table.rows for cell in row if cell.startswith("1,000,000")]
