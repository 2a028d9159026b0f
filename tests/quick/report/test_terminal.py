import io
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import builders
import pytest
from rich.console import Console

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.bundle.series.read import Series
from steelyard.report.presented import Presented
from steelyard.report.table import plain_table
from steelyard.report.tables.statements import buffers
from steelyard.report.terminal.progress import MatrixPlan, Progress
from steelyard.report.terminal.verdict import _aligned, print_next, print_verdict

GOLDEN = Path(__file__).parent / "golden"


def _printed(case: builders.Case, width: int = 80, **how: bool) -> str:
    judgement, _, about = case
    out = io.StringIO()
    console = Console(file=out, width=width, **how)
    print_verdict(Presented(judgement, Series(), about), console)
    print_next(Presented(judgement, Series(), about), console)
    return out.getvalue()


@pytest.mark.parametrize("name", ["two", "scaling", "matrix"])
def test_the_verdict_reads_as_it_did(name: str) -> None:
    text = _printed(getattr(builders, name)())
    assert text == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["two", "scaling", "matrix"])
def test_eighty_columns_are_enough(name: str) -> None:
    assert max(map(len, _printed(getattr(builders, name)()).splitlines())) <= 80


def test_fifty_three_options_fit_one_screen() -> None:
    text = _printed(builders.matrix(), width=100)
    assert len(text.splitlines()) < 40
    judgement = builders.matrix()[0]
    assert judgement.baseline in text


def test_the_last_lines_name_bundle_report_and_next_command() -> None:
    last = _printed(builders.two()).splitlines()[-3:]
    assert [line.split()[0] for line in last] == ["bundle", "report", "next"]


def test_no_colour_in_a_pipe_or_when_the_user_wants_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in _printed(builders.two())
    assert "\x1b[32m" in _printed(builders.two(), force_terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in _printed(builders.two(), force_terminal=True)


def test_text_from_outside_cannot_steer_the_terminal() -> None:
    judgement, series, about = builders.two()
    wild = replace(judgement, question="\x1b[2Jgone [bold]not markup[/bold]\x07")
    text = _printed((wild, series, about))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]not markup[/bold]" in text


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def _run(progress: Progress, clock: _Clock, label: str, block: int, status: str = "done") -> None:
    progress.run_started(label, block, 1)
    progress.tick(1000.0)
    clock.now += 10
    progress.run_ended(label, block, 990.0, status)


def test_progress_knows_the_time_left() -> None:
    clock = _Clock()
    progress = Progress(Console(file=io.StringIO()), clock=clock)
    progress.start(MatrixPlan(("A", "B"), 3, 12.0))
    assert progress.left_s() == 72
    _run(progress, clock, "A", 1)
    _run(progress, clock, "B", 1)
    assert progress.left_s() == 40
    progress.run_started("A", 2, 1)
    progress.tick(21_400)
    clock.now += 4
    assert progress.left_s() == 36
    shown = progress.render().plain
    assert "2 of 6 runs, 36 s left" in shown
    assert "A  ■▸·" in shown
    assert "block 2, run 1: A  21,400/s" in shown


def _turns(progress: Progress, clock: _Clock, block: int, seconds: float, parts: int = 10) -> list[float]:
    """A block of two options in turns; the time left after each part of its load."""
    left: list[float] = []
    for part in range(1, parts + 1):
        progress.run_started("AB"[part % 2], block, 1)
        clock.now += seconds / parts
        progress.turned(part / parts)
        left.append(progress.left_s() or 0.0)
    for label in ("A", "B"):
        progress.run_ended(label, block, 990.0, "done")
        left.append(progress.left_s() or 0.0)
    return left


def test_progress_in_turns_goes_on_within_a_block_and_does_not_jump_at_its_end() -> None:
    clock = _Clock()
    progress = Progress(Console(file=io.StringIO()), clock=clock)
    progress.start(MatrixPlan(("A", "B"), 3, 10.0))
    clock.now += 8
    progress.run_started("A", 1, 1)
    progress.turned(0.0)
    assert progress.left_s() == 60
    # as fast as planned
    first = _turns(progress, clock, 1, 20.0)
    assert first == pytest.approx([58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 40, 40])
    # half as fast: the new pace shows gradually
    second = _turns(progress, clock, 2, 40.0)
    steps = [a - b for a, b in pairwise([first[-1], *second])]
    assert second[-1] == pytest.approx(30) and max(map(abs, steps)) <= 2
    progress.run_started("A", 3, 1)
    progress.turned(0.5)
    assert "4 of 6 runs" in progress.render().plain
    assert progress.render().plain.count("━") == 24
    _turns(progress, clock, 3, 30.0)
    assert progress.left_s() == 0


def test_progress_in_turns_away_from_a_terminal_is_a_line_within_a_block() -> None:
    clock, out = _Clock(), io.StringIO()
    progress = Progress(Console(file=out, width=80), every_s=30, clock=clock)
    progress.start(MatrixPlan(("A", "B"), 2, 40.0))
    progress.turned(0.0)
    for block in (1, 2):
        _turns(progress, clock, block, 80.0, parts=4)
    progress.stop()
    assert out.getvalue().splitlines() == [
        "0 of 4 runs, block 1 at 50.0 %, 2 min 00 s left",
        "0 of 4 runs, block 1 at 100 %, 1 min 20 s left",
        "2 of 4 runs, block 2 at 50.0 %, 40 s left",
        "2 of 4 runs, block 2 at 100 %, 0 s left",
        "4 of 4 runs, block 2: B 990/s, 0 s left",
    ]


def test_progress_away_from_a_terminal_is_a_line_now_and_then() -> None:
    clock, out = _Clock(), io.StringIO()
    progress = Progress(Console(file=out, width=80), every_s=30, clock=clock)
    progress.start(MatrixPlan(("A", "B"), 4, 10.0))
    for block in (1, 2, 3, 4):
        for label in ("A", "B"):
            _run(progress, clock, label, block)
    progress.stop()
    lines = out.getvalue().splitlines()
    assert lines[0] == "1 of 8 runs, block 1: A 990/s, 1 min 10 s left"
    assert lines[-1] == "8 of 8 runs, block 4: B 990/s, 0 s left"
    assert len(lines) == 4


def test_a_void_run_is_always_told() -> None:
    clock, out = _Clock(), io.StringIO()
    progress = Progress(Console(file=out, width=80), clock=clock)
    progress.start(MatrixPlan(("A", "B"), 2, 10.0))
    _run(progress, clock, "A", 1)
    _run(progress, clock, "B", 1, "void")
    assert "block 1: B void" in out.getvalue()


def test_progress_leaves_nothing_on_the_screen() -> None:
    clock, out = _Clock(), io.StringIO()
    progress = Progress(Console(file=out, width=80, force_terminal=True), clock=clock)
    progress.start(MatrixPlan(("A", "B"), 1, 10.0))
    _run(progress, clock, "A", 1)
    progress.stop()
    assert out.getvalue().endswith("\x1b[2K")


def test_pages_found_and_read_are_a_table_by_option_at_the_most_clients() -> None:
    found, read = (("postgres", "database", f"blocks_{what}_total") for what in ("hit", "read"))
    small = Truth(counters={found: 30_000.0, read: 8_000.0})
    large = Truth(counters={found: 38_000.0, read: 0.0})
    study = study_of({"buffers": ("small", "large")}, clients=(2, 8))
    _, _, about = builders.two()

    def shown(**truths: Truth) -> str:
        table = buffers(Presented(judge(evidence_of(study, truths)), Series(), about))
        return "" if table is None else "\n".join(" ".join(row) for row in (table.head, *table.rows))

    text = shown(small=small, large=large)
    head = "per transaction at 8 clients blocks found in shared buffers blocks read into shared buffers"
    assert head in text
    assert re.search(r"^  large 0\.9\d* 0$", text, re.MULTILINE)
    assert re.search(r"^  small 0\.7\d* 0\.2\d*$", text, re.MULTILINE)
    assert not shown(small=large, large=large)


def test_a_table_too_wide_for_the_window_is_stacked() -> None:
    table = plain_table(
        ("  instances", *(f"a long heading {n}" for n in range(6))), (("· 1 × A", *"123456"),)
    )
    out, piped = io.StringIO(), io.StringIO()
    _aligned(table, Console(file=out, width=80, force_terminal=True, no_color=True, color_system=None))
    _aligned(table, Console(file=piped, width=80))
    assert len(piped.getvalue().splitlines()) == 3
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert "· 1 × A" in text and "a long heading 5 6" in " ".join(text.split())


def test_one_option_alone_has_neither_ratio_nor_marks() -> None:
    judgement, series, about = builders.two()
    alone = replace(judgement, options=("NONE",), comparisons=(), costs=(), effects=())
    text = _printed((alone, series, about))
    assert "ratio" not in text and "baseline" not in text.partition("option")[2] and "▲" not in text
