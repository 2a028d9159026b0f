"""A bar per large file that is read, on a terminal; nothing elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from steelyard.printable import printable


@contextmanager
def reading() -> Generator[Callable[[Path, float], None]]:
    """A function that takes a file and the share of it that was read, 0 to 1."""
    console = Console(stderr=True)
    columns = (
        TextColumn("reading {task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[Path, TaskID] = {}
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:

        def show(path: Path, share: float) -> None:
            if path not in tasks:
                tasks[path] = bars.add_task(printable(path.name), total=1.0)
            bars.update(tasks[path], completed=share, visible=share < 1)

        yield show
