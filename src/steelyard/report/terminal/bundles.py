"""Two bundles side by side, in the terminal."""

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from steelyard.analysis.bundles import BundleComparison
from steelyard.printable import printable
from steelyard.report.presented.words import heading
from steelyard.report.tables import bundles


def print_bundle_comparison(found: BundleComparison, console: Console) -> None:
    """What is compared; a table per metric, each option there against here; then what else differs."""
    console.print(Text(printable(f"{found.there} (there) against {found.here} (here)"), "bold"))
    for notice in found.uncertain:
        console.print(Text(printable(notice.text), "yellow"), soft_wrap=True)
    for text in filter(None, (found.differ, *found.answer)):
        console.print(Text(printable(text)), soft_wrap=True)
    for what, texts in bundles.unlike(found):
        console.print(Text(printable(f"{what}: {'; '.join(texts)}")), soft_wrap=True)
    tables = [(metric, bundles.compared(found, metric)) for metric in found.metrics]
    tables += [(metric, bundles.counted(found, metric)) for metric in found.counted]
    for metric, table in tables:
        title = Text(printable(heading(metric)))
        shown = RichTable(box=None, pad_edge=False, title=title, title_justify="left")
        for place, name in enumerate(table.head):
            shown.add_column(name, justify="right" if place > table.head.index("option") else "left")
        for row in table.rows:
            shown.add_row(*(Text(printable(cell)) for cell in row))
        console.print()
        console.print(shown)
    console.print()
    console.print(Text(bundles.footnote(found), "dim"), highlight=False)
    for notice in found.notices:
        console.print(Text(printable(f"  - {notice.text}")), soft_wrap=True)
