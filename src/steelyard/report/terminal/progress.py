"""Progress on standard error: a matrix of blocks and options, live TPS, time left; bars of files."""

import math
import sys
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich import progress
from rich.console import Console
from rich.live import Live
from rich.text import Text

from steelyard import quantities as fmt
from steelyard.printable import printable
from steelyard.report.terminal.plan import print_lines

_SIGNS = {
    "done": ("■", "green"),
    "void": ("×", "red"),
    "disturbed": ("≈", "yellow"),
    "running": ("▸", "bold cyan"),
    "": ("·", "dim"),
}
_ROWS_MAX = 14
_BAR = 24


@dataclass(frozen=True)
class MatrixPlan:
    """What is to be run.

    run_s: expected length of one run, set-up included (None: unknown); unit: of its rate.
    """

    options: tuple[str, ...]
    blocks: int
    run_s: float | None
    unit: str | None = "/s"

    @property
    def runs(self) -> int:
        """How many there are."""
        return len(self.options) * self.blocks


class Progress:
    """Shows a matrix that changes in place; away from a terminal, a plain line now and then."""

    def __init__(
        self,
        console: Console | None = None,
        *,
        every_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console or Console(file=sys.stderr)
        self._clock = clock
        self._every_s = every_s
        self._plan = MatrixPlan((), 0, 0.0)
        self._cells: dict[tuple[str, int], str] = {}
        self._now: tuple[str, int, int] | None = None
        self._tps: float | None = None
        self._runs = 0
        self._ended_at = self._started_at = 0.0
        # of the block under way, where its options take turns: its share that is done; None: they do not
        self._share: float | None = None
        self._printed_at = float("-inf")
        self._live: Live | None = None

    def start(self, plan: MatrixPlan) -> None:
        """Begins; from here on the matrix is shown."""
        self._plan = plan
        self._started_at = self._ended_at = self._clock()
        if self._console.is_terminal:
            self._live = Live(self.render(), console=self._console, transient=True, auto_refresh=False)
            self._live.start()

    def noted(self, lines: Iterable[tuple[str, str]]) -> None:
        """Further lines of the plan, before the first run: a name and a text each."""
        print_lines(lines, self._console)

    def run_started(self, label: str, block: int, slot: int) -> None:
        """A run begins; block and slot count from 1."""
        self._now, self._tps = (label, block, slot), None
        self._cells[label, block] = "running"
        self._show()

    def tick(self, tps: float) -> None:
        """Transactions in the second that has just gone by."""
        self._tps = tps
        self._show()

    def turned(self, share: float) -> None:
        """A turn, or a warm-up before turns, is over; share: of the block's load that is done, 0 to 1."""
        if self._share is None:
            # what came before is done once per study: data are made, servers start on them
            self._ended_at = self._started_at = self._clock()
        self._share = share
        now = self._clock()
        if not self._live and now - max(self._printed_at, self._started_at) >= self._every_s and self._now:
            self._printed_at = now
            self._say(f"block {self._now[1]} at {fmt.percent(share)}")
        self._show()

    def run_ended(self, label: str, block: int, tps: float, status: str) -> None:
        """A run is over. status: done; void or disturbed: its block will be redone."""
        if status != "done":
            self._cells = {cell: found for cell, found in self._cells.items() if cell[1] != block}
        self._cells[label, block] = status
        self._runs += 1
        self._ended_at = self._clock()
        self._now = None
        if self._share is not None:
            self._share = 0.0
        if not self._live:
            self._plain(label, block, tps, status)
        self._show()

    def interrupted(self) -> None:
        """Says at once that Ctrl-C was heard: to stop servers and to undo changes takes its time."""
        self.stop()
        text = "interrupted: ending the run in progress and what was started for it"
        self._console.print(Text(text), soft_wrap=True)

    def stop(self) -> None:
        """Ends, and leaves nothing behind on the screen."""
        if self._live:
            self._live.stop()
            self._live = None

    @property
    def _ended(self) -> int:
        """Runs that are done and count so far."""
        return sum(status == "done" for status in self._cells.values())

    def left_s(self) -> float | None:
        """Seconds that remain, by the pace so far (by the plan, until a run has ended); None: unknown."""
        pace = (self._ended_at - self._started_at) / self._runs if self._runs else self._plan.run_s
        if pace is None:
            return None
        since = self._clock() - self._ended_at
        if self._share is not None:
            return self._left_in_turns_s(self._share, since)
        return max(0.0, max(0, self._plan.runs - self._ended) * pace - min(since, pace))

    def _left_in_turns_s(self, share: float, since: float) -> float | None:
        """By the pace of finished blocks (of the plan before) and, as far as it is done, of this one.

        since: seconds since the last block ended.
        """
        options = max(1, len(self._plan.options))
        # the runs of a block end together; a failed one has a single run
        attempts, done = math.ceil(self._runs / options), math.ceil(self._ended / options)
        earlier_s = self._ended_at - self._started_at
        planned_s = None if self._plan.run_s is None else self._plan.run_s * options
        block_s = earlier_s / attempts if attempts else planned_s
        if block_s is None or done >= self._plan.blocks:
            return None if block_s is None else 0.0
        rest_s = (1 - share) * block_s
        later_s = (earlier_s + since + rest_s) / (attempts + 1)
        return rest_s + (self._plan.blocks - done - 1) * later_s

    def render(self) -> Text:
        """The matrix as it stands."""
        plan, text = self._plan, Text()
        under_way = (self._share or 0.0) * len(plan.options)
        filled = min(_BAR, round(_BAR * (self._ended + under_way) / plan.runs)) if plan.runs else 0
        text.append("━" * filled, "green").append("━" * (_BAR - filled), "dim")
        text.append(f"  {self._ended} of {plan.runs} runs{self._left()}\n")
        width = max(map(len, plan.options), default=0)
        if len(plan.options) <= _ROWS_MAX and width + plan.blocks + 4 <= self._console.width:
            for label in plan.options:
                text.append(printable(f"  {label:<{width}}  "))
                for block in range(1, plan.blocks + 1):
                    text.append(*_SIGNS[self._cells.get((label, block), "")])
                text.append("\n")
        if self._now:
            label, block, slot = self._now
            rate = (
                "" if self._tps is None or plan.unit is None else f"  {fmt.significant(self._tps)}{plan.unit}"
            )
            text.append(printable(f"  block {block}, run {slot}: {label}{rate}"))
        return text

    def _left(self) -> str:
        seconds = self.left_s()
        return "" if seconds is None else f", {fmt.duration(round(seconds))} left"

    def _show(self) -> None:
        if self._live:
            self._live.update(self.render(), refresh=True)

    def _plain(self, label: str, block: int, tps: float, status: str) -> None:
        now = self._clock()
        early = self._ended < self._plan.runs and now - self._printed_at < self._every_s
        # the runs of a block in turns end together: the last one stands for all
        one_of_many = self._share is not None and self._ended % len(self._plan.options)
        # every void run is worth a line, and so is the end
        if status == "done" and (early or one_of_many):
            return
        self._printed_at = now
        rated = status == "done" and self._plan.unit is not None
        rate = f"{fmt.significant(tps)}{self._plan.unit}" if rated else status
        self._say(f"block {block}: {label} {rate}")

    def _say(self, what: str) -> None:
        line = f"{self._ended} of {self._plan.runs} runs, {what}{self._left()}"
        self._console.print(Text(printable(line)), soft_wrap=True)


@contextmanager
def reading() -> Generator[Callable[[Path, float], None]]:
    """A function that takes a file and the share of it that was read, 0 to 1."""
    console = Console(stderr=True)
    columns = (
        progress.TextColumn("reading {task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeRemainingColumn(),
    )
    tasks: dict[Path, progress.TaskID] = {}
    with progress.Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:

        def show(path: Path, share: float) -> None:
            if path not in tasks:
                tasks[path] = bars.add_task(printable(path.name), total=1.0)
            bars.update(tasks[path], completed=share, visible=share < 1)

        yield show
