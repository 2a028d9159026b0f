"""Two bundles side by side, in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.analysis.bundles import BundleComparison
from steelyard.analysis.judgement.results import Metric
from steelyard.printable import printable
from steelyard.report.presented.headings import heading
from steelyard.report.tables import bundles


def print_bundle_comparison(found: BundleComparison, console: Console) -> None:
    """What is compared; a table per metric, each option there against here; then what else differs."""
    console.print(Text(printable(f"{found.there} (there) against {found.here} (here)"), "bold"))
    for notice in found.uncertain:
        console.print(Text(printable(notice.text), "yellow"), soft_wrap=True)
    for what, texts in bundles.unlike(found):
        console.print(Text(printable(f"{what}: {'; '.join(texts)}")), soft_wrap=True)
    for metric in found.metrics:
        table = Table(box=None, pad_edge=False, title=_title(metric), title_justify="left")
        table.add_column("")
        for place, name in enumerate(bundles.head(found)):
            table.add_column(name, justify="right" if place else "left")
        for row in bundles.rows(found, metric):
            table.add_row(
                row.mark,
                Text(printable(row.option)),
                *(row.clients, row.here, row.there, row.ratio, row.p_value, row.runs),
            )
        console.print()
        console.print(table)
    for metric in found.counted:
        counted = bundles.counted(found, metric)
        shown = Table(box=None, pad_edge=False, title=_title(metric), title_justify="left")
        for place, name in enumerate(counted.head):
            shown.add_column(name, justify="right" if place else "left")
        for option, *cells in counted.rows:
            shown.add_row(Text(printable(option)), *cells)
        console.print()
        console.print(shown)
    console.print()
    console.print(Text(bundles.footnote(found), "dim"), highlight=False)
    for notice in found.notices:
        console.print(Text(printable(f"  - {notice.text}")), soft_wrap=True)


def _title(metric: Metric) -> Text:
    return Text(printable(heading(metric)))
