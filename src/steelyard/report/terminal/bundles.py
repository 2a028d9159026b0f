"""Two bundles side by side, in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard import quantities as fmt
from steelyard.analysis.comparison.bundles import BundleComparison
from steelyard.printable import printable
from steelyard.report.presented.marks import MARKS, MARKS_MEAN


def print_bundle_comparison(found: BundleComparison, console: Console) -> None:
    """A table a metric: each option there against here; then what else differs."""
    console.print(Text(printable(f"{found.there} against {found.here}"), "bold"))
    for metric in found.metrics:
        rows = [c for c in found.comparisons if c.metric == metric.name]
        table = Table(box=None, pad_edge=False, title=Text(printable(metric.title)), title_justify="left")
        table.add_column("")
        table.add_column("option")
        for heading in (found.points_are, "ratio", "n"):
            table.add_column(heading, justify="right")
        for row in rows:
            table.add_row(
                MARKS[row.outcome],
                Text(printable(row.option)),
                str(row.clients),
                fmt.ratio(row.ratio, row.low, row.high),
                str(row.blocks),
            )
        console.print()
        console.print(table)
    console.print(f"\n{MARKS_MEAN}; 95 % intervals, Welch's t on run values", style="dim")
    for notice in found.notices:
        console.print(Text(printable(f"  - {notice.text}")), soft_wrap=True)
