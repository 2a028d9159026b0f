"""Two or more bundles, compared: read, paired, judged, printed and rendered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from steelyard.analysis.bundles import BundleComparison, compare_bundles
from steelyard.analysis.comparison.across import holds, no_platforms, short_names
from steelyard.analysis.comparison.block_table import estimated_runs
from steelyard.analysis.comparison.unlike import Named, paired, refuse_without_pairs, unlike_work
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Judgement
from steelyard.bundle.reader import Bundle
from steelyard.bundle.series.read import read_series
from steelyard.bundle.storage.files import write_whole
from steelyard.errors import InputError, shown
from steelyard.printable import printable
from steelyard.recordings.importing import bundle_of
from steelyard.report.about.provenance import about_bundle
from steelyard.report.page.comparison import as_one, render
from steelyard.report.presented.words import heading
from steelyard.report.tables import bundles


@dataclass(frozen=True)
class Compared:
    """Each other bundle against the first. platforms: whether findings hold on all; judged: by short name.

    refusal: why that is not known, where they differ in more than their platform.
    """

    found: Sequence[BundleComparison]
    platforms: Sequence[str]
    refusal: str
    judged: Mapping[str, Judgement]
    bundles: Sequence[Bundle]
    named: Sequence[Named]

    def as_json(self) -> bytes:
        """The comparisons; an interval without an end is null, since JSON has no infinity."""
        return TypeAdapter(list[BundleComparison]).dump_json(list(self.found), indent=2)

    def write(self, html: Path) -> None:
        """Writes the page. Raises InputError."""
        found = [
            (read_series(bundle, estimated_runs(evidence)), environment.get("paired", {}))
            for bundle, (_, evidence, environment) in zip(self.bundles, self.named, strict=True)
        ]
        presented = as_one(self.judged, found, about_bundle(self.bundles[0], shown(html)))
        try:
            write_whole(html, render(self.found, self.platforms, self.refusal, presented))
        except OSError as error:
            raise InputError(f"{html}: cannot be written: {error.strerror}") from None


def compare(paths: Sequence[Path], theirs: Mapping[str, str], force: bool) -> Compared:
    """theirs: own option by the option there. force: also copies, and other work. Raises InputError."""
    places = [bundle_of(path) for path in paths]
    if len({path.resolve() for path in places}) < len(places):
        raise InputError("a bundle is named twice: name another one to compare it with")
    bundles = [Bundle(path) for path in places]
    named = paired([(str(b.path), b.evidence(), b.environment) for b in bundles], theirs)
    for other in named[1:]:
        if (unlike := list(unlike_work(named[0], other))) and not force:
            raise InputError(
                f"{named[0][0]} and {other[0]} have different work: {'; '.join(unlike)}",
                "--force compares them anyway",
            )
    if len({bundle.head["id"] for bundle in bundles}) < len(bundles) and not force:
        raise InputError("two of them are copies of one bundle", "--force compares them anyway")
    found = compare_bundles(named[0], named[1:])
    for other, comparison in zip(named[1:], found, strict=True):
        refuse_without_pairs(named[0], other, bool(comparison.comparisons or comparison.counted))
    names = short_names([name for name, _, _ in named])
    judged = {names[name]: judge(evidence) for name, evidence, _ in named}
    beyond = dict.fromkeys(text for one in found for text in (*one.unlike_work, *one.differences))
    refusal = no_platforms(judged, list(beyond))
    return Compared(found, [] if refusal else list(holds(judged)), refusal, judged, bundles, named)


def print_bundle_comparison(found: BundleComparison, console: Console) -> None:
    """What is compared; a table per metric, each option there against here; then what else differs."""

    def say(text: str, style: str = "") -> None:
        console.print(Text(printable(text), style), soft_wrap=True)

    console.print(Text(printable(f"{found.there} (there) against {found.here} (here)"), "bold"))
    for notice in found.uncertain:
        say(notice.text, "yellow")
    for text in filter(None, (found.differ, *found.answer)):
        say(text)
    for what, texts in bundles.unlike(found):
        say(f"{what}: {'; '.join(texts)}")
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
        say(f"  - {notice.text}")
