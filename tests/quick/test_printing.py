"""What comes from a study or a bundle is printed as text: no markup, no steered terminal."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import builders
from hypothesis import given
from hypothesis import strategies as st
from laboratory import SMALL
from rich.console import Console

from steelyard.analysis.bundles import BundleComparison
from steelyard.analysis.judgement import Headlines, Notice
from steelyard.bundle.series.read import Series
from steelyard.printable import LINES, printable
from steelyard.report.export import to_markdown
from steelyard.report.presented import Presented
from steelyard.report.terminal.plan import Expected, print_plan
from steelyard.report.terminal.verdict import print_verdict
from steelyard.study.load_study import parse_study
from steelyard.study.plan import options
from steelyard.workflow.compare import print_bundle_comparison

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
WILD = "\x1b[2J\x1b]0;title\x07 [bold]b[/bold] :smile: \u202eevil\u2066 \x9b31m \x7f"


@given(st.text(st.characters()))
def test_nothing_printable_steers_a_terminal(text: str) -> None:
    assert not STEERING.search(printable(text, LINES))
    assert "\n" not in printable(text)
    printable(text).encode()  # halves of surrogates too


def test_what_steers_is_shown_as_its_escape_and_all_else_stays() -> None:
    assert printable("a\x1b[1m\u202eb\x85\r") == r"a\x1b[1m\u202eb\x85\r"
    assert printable("a\tb\nc") == r"a\tb\nc"
    assert printable("a\tb\nc", LINES) == "a\tb\nc"
    assert printable("µ 漢字 😀 [x] é") == "µ 漢字 😀 [x] é"


def console() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=200), out


def assert_is_text(shown: str) -> None:
    assert not STEERING.search(shown)
    assert re.search(r"\[bold]b\[/?bold]", shown) and ":smile:" in shown
    # the terminal wraps long paths
    whole = shown.replace("\n", "")
    assert r"\x1b[2J" in whole and r"\u202e" in whole


def test_a_verdict_with_wild_texts_is_text() -> None:
    judgement, _, about = builders.two()
    notice = Notice(**{**vars(judgement.notices[0]), "text": WILD}) if judgement.notices else None
    wild = replace(judgement, question=WILD, **({"notices": (notice,)} if notice else {}))
    where, out = console()
    print_verdict(Presented(wild, Series(), replace(about, bundle=WILD)), where)
    assert_is_text(out.getvalue())


def test_a_comparison_of_bundles_with_wild_paths_is_text() -> None:
    where, out = console()
    print_bundle_comparison(BundleComparison(WILD, "b", *[()] * 4, "clients", (), (), 0, *[()] * 5), where)
    assert_is_text(out.getvalue())


def test_a_plan_with_a_wild_question_is_text() -> None:
    text = SMALL.format(subject="null", measure_s=0.3, blocks=2).replace("Which way?", toml(WILD))
    study = parse_study(text, "my.toml")
    where, out = console()
    print_plan(study, options(study), Expected(1.0, refused=[WILD]), where)
    assert_is_text(out.getvalue())


def toml(text: str) -> str:
    return "".join(char if char.isascii() and char.isprintable() else f"\\u{ord(char):04x}" for char in text)


def test_markdown_takes_questions_labels_and_units_as_text() -> None:
    judgement, _, about = builders.hostile()
    unit = "<img src=x>[a](//x)"
    metrics = tuple(replace(metric, unit=unit) for metric in judgement.metrics)
    roles = {
        role: metric and replace(metric, unit=unit) for role, metric in vars(judgement.headlines).items()
    }
    wild = replace(
        judgement, metrics=metrics, headlines=Headlines(**roles), question=f"- {WILD} &lt;b&gt; $x$"
    )
    text = to_markdown(Presented(wild, Series(), about))
    assert not STEERING.search(text)
    code = re.sub(r"`[^`\n]*`", "", text)
    assert not re.search(r"(?<!\\)<", code)
    assert not re.search(r"(?<!\\)\]\(", code)
    assert not re.search(r"(?<!\\)[&$]", code)


def test_a_text_at_the_beginning_of_a_line_of_markdown_makes_no_list() -> None:
    judgement, _, about = builders.two()
    verdict = replace(
        judgement.verdict,
        headline="1. first",
        interval="",
        consequence="",
        reasons=("- one", "+ two", "plain"),
    )
    lines = to_markdown(Presented(replace(judgement, verdict=verdict), Series(), about)).split("\n")
    assert {r"1\. first", r"- \- one", r"- \+ two", "- plain"} <= set(lines)
