"""A study run in the process of the test, without its report: cheaper than the command line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from steelyard.bundle.reader import Bundle
from steelyard.host.processes.signals import Interrupts
from steelyard.workflow.measure import start
from steelyard.workflow.prepare import PreparedStudy


class Quiet:
    """Nobody watches the study."""

    def run_started(self, label: str, block: int, slot: int) -> None: ...

    def tick(self, tps: float) -> None: ...

    def turned(self, share: float) -> None: ...

    def noted(self, lines: Iterable[tuple[str, str]]) -> None: ...

    def run_ended(self, label: str, block: int, tps: float, status: str) -> None: ...


def measured(text: str, name: str, folder: Path) -> Bundle:
    """The bundle of the study in a text, in this folder."""
    start(PreparedStudy.of(text, name), folder / "b", Quiet(), Interrupts())
    return Bundle(folder / "b")


def assert_done(bundle: Bundle) -> None:
    """Every option has a run that is done; the study may have repeated one that the machine cut off."""
    rows = bundle.columns("select option, status, cause from runs")
    done = {option for option, status in zip(rows["option"], rows["status"], strict=True) if status == "done"}
    assert done == {option["label"] for option in bundle.head["options"]}, set(rows["cause"])
