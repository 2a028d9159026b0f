import re
from dataclasses import replace

import builders

from steelyard.analysis.judgement import Judgement, Notice
from steelyard.bundle.series.read import Series
from steelyard.report.page.html import render
from steelyard.report.presented import Presented
from steelyard.report.presented.ranking import Footnote, footnotes


def _of(judgement: Judgement, *notices: Notice) -> list[Footnote]:
    bare = replace(judgement, comparisons=(), notices=notices)
    return footnotes(bare)


def test_equal_warnings_of_several_options_and_metrics_are_one_footnote() -> None:
    text = "proven to differ from NONE, but perhaps by less than the 3 % that matters"
    judgement = builders.scaling()[0]
    first, second = judgement.comparisons[:2]
    warned = replace(
        judgement,
        notices=(),
        comparisons=(
            replace(first, notices=(Notice("may-be-small", text, "B", detail="throughput: 1.02 to 1.07"),)),
            replace(second, notices=(Notice("may-be-small", text, "B", detail="server CPU: 0.93 to 0.98"),)),
            replace(first, notices=(Notice("may-be-small", text, "C", detail="throughput: 1.01 to 1.05"),)),
        ),
    )
    (note,) = footnotes(warned)
    assert note.sentence == (
        f"B (throughput: 1.02 to 1.07 and server CPU: 0.93 to 0.98) and C (throughput: 1.01 to 1.05): {text}"
    )
    assert list(note.about) == ["B", "C"]


def test_each_option_bears_the_mark_of_the_gathered_footnote() -> None:
    import io

    from rich.console import Console

    from steelyard.report.terminal.verdict import print_verdict

    judgement, _, about = builders.two()
    warned = replace(
        judgement, notices=tuple(Notice("steal", "stolen", o, detail="5 %") for o in ("NAMED", "NONE"))
    )
    out = io.StringIO()
    print_verdict(Presented(warned, Series(), about), Console(file=out, width=100))
    assert "NAMED[1]" in out.getvalue()
    assert "NONE[1]" in out.getvalue()
    assert out.getvalue().count("stolen") == 1


def test_warnings_that_differ_in_a_number_of_runs_are_one_with_the_span() -> None:
    notices = [Notice("zeros", f"server CPU is 0 in {n} runs: differences") for n in (10, 2, 12)]
    (note,) = _of(builders.two()[0], *notices)
    assert note.sentence == "server CPU is 0 in 2 to 12 runs: differences"


def test_runs_of_equal_warnings_are_put_together() -> None:
    judgement = builders.two()[0]
    (note,) = _of(judgement, Notice("c", "t", "A", (4, 1)), Notice("c", "t", "B", (2, 4)))
    assert note.runs == (1, 2, 4)


def test_warnings_that_differ_stay_apart_and_those_of_the_whole_study_come_first() -> None:
    found = _of(builders.two()[0], Notice("c", "of A", "A"), Notice("c", "whole"), Notice("d", "of A", "A"))
    assert [note.sentence for note in found] == ["whole", "of A", "of A"]


def test_what_is_missing_of_many_metrics_is_one_footnote() -> None:
    metrics = ["throughput", "latency p50", "latency p95", "latency p99", "WAL"]
    rare = [Notice("not-compared", "too few runs", option, detail=m) for option in "AB" for m in metrics]
    whole = [Notice("not-compared", "no block", detail=m) for m in metrics]
    found = _of(builders.two()[0], *rare, *whole)
    named = "throughput, latency p50, latency p95, latency p99 and 1 more"
    assert [note.sentence for note in found] == [
        f"{named}: no block",
        f"A and B (each {named}): too few runs",
    ]


def test_each_number_of_a_notice_has_its_mark_and_the_others_have_none() -> None:
    judgement, _, about = builders.two()
    notices = (
        Notice("disturbed", "waited for a CPU", "NAMED"),
        Notice("another-study", "another study ran"),
        Notice("c", "of one", "NONE"),
    )
    shown = Presented(replace(judgement, notices=notices), Series(), about)
    assert [(note.text, note.number) for note in shown.footnotes] == [
        ("waited for a CPU", 1),
        ("another study ran", None),
        ("of one", 2),
    ]
    assert {row.label: row.footnotes for row in shown.ranking} == {"NAMED": (1,), "NONE": (2,)}
    page = render(shown)
    for number in re.findall(r'<li id="notice-(\d)"', page):
        assert f'href="#notice-{number}"' in page
    assert page.count('<li class="whole">another study ran') == 1


def test_many_options_are_counted_beyond_eight() -> None:
    found = _of(builders.two()[0], *(Notice("c", "t", f"O{n}") for n in range(12)))
    assert found[0].sentence == "O0, O1, O2, O3, O4, O5, O6, O7 and 4 more: t"


def test_severe_notices_come_first_and_limits_of_the_machine_last() -> None:
    notices = [
        Notice("probe-unavailable", "no tracefs"),
        Notice("monitor-partial", "no pg_stat_statements"),
        Notice("unequal-variances", "runs scatter unequally"),
        Notice("may-be-small", "perhaps small", "A"),
        Notice("gauge-full", "entries reached 100 % of its limit", "A"),
        Notice("disturbed", "waited for a CPU", "B"),
    ]
    found = _of(builders.two()[0], *notices)
    assert [note.code for note in found] == [
        "disturbed",
        "gauge-full",
        "unequal-variances",
        "may-be-small",
        "monitor-partial",
        "probe-unavailable",
    ]
