"""steelyard compare HERE THERE ..."""

from pathlib import Path

import click

from steelyard.cli.completion import PATH, as_json, bundles


@click.command()
@click.argument("here", type=PATH, shell_complete=bundles)
@click.argument("there", type=PATH, nargs=-1, required=True, shell_complete=bundles)
@click.option(
    "--as", "names", metavar="THERE=HERE", multiple=True, help="An option there is this one here; repeatable."
)
@click.option(
    "--force",
    is_flag=True,
    help="Compare even copies of one bundle, or other workloads, data or load points.",
)
@as_json("As JSON on standard output.")
@click.option("--html", metavar="FILE", type=PATH, help="Write a page too. Default: none.")
def command(
    here: Path, there: tuple[Path, ...], names: tuple[str, ...], force: bool, as_json: bool, html: Path | None
) -> None:
    """Compare each bundle THERE with the bundle HERE, option by option.

    For the same work with another version or other settings of the server, or on another machine,
    kernel or day. All that differs is printed beside the result, because the runs of two bundles
    were not interleaved.
    """
    from rich.console import Console

    from steelyard.analysis.bundles import BundleComparison, bundle_name, compare_bundles
    from steelyard.analysis.comparison.across import holds
    from steelyard.analysis.comparison.block_table import estimated_runs
    from steelyard.analysis.comparison.unlike import paired, refuse_without_pairs, unlike_work
    from steelyard.analysis.judge import judge
    from steelyard.bundle.reader import Bundle
    from steelyard.bundle.series.read import read_series
    from steelyard.errors import InputError, shown
    from steelyard.printable import printable
    from steelyard.recordings.importing import bundle_of
    from steelyard.report.about.provenance import about_bundle
    from steelyard.report.page.comparison import Together, write_comparison
    from steelyard.report.terminal.bundles import print_bundle_comparison

    places = [bundle_of(path) for path in (here, *there)]
    if len({path.resolve() for path in places}) <= len(there):
        raise InputError("a bundle is named twice: name another one to compare it with")
    bundles_of = [Bundle(path) for path in places]
    named = [(str(bundle.path), bundle.evidence(), bundle.environment) for bundle in bundles_of]
    theirs = {label: own for label, _, own in (name.rpartition("=") for name in names)}
    if len(theirs) < len(names):
        raise click.UsageError("--as: an option there is named twice")
    named = paired(named, theirs)
    for other in named[1:]:
        if (unlike := list(unlike_work(named[0], other))) and not force:
            raise InputError(
                f"{named[0][0]} and {other[0]} have different work: {'; '.join(unlike)}",
                "--force compares them anyway",
            )
    if len({bundle.head["id"] for bundle in bundles_of}) <= len(there) and not force:
        raise InputError("two of them are copies of one bundle", "--force compares them anyway")
    found = compare_bundles(named[0], named[1:])
    for other, comparison in zip(named[1:], found, strict=True):
        refuse_without_pairs(named[0], other, bool(comparison.comparisons or comparison.counted))
    judged = {bundle_name(name): judge(evidence) for name, evidence, _ in named}
    platforms = list(holds(judged, list(dict.fromkeys(text for one in found for text in one.differences))))
    if html is not None:
        series = [read_series(b, estimated_runs(e)) for b, (_, e, _) in zip(bundles_of, named, strict=True)]
        together = Together(judged, series, about_bundle(bundles_of[0], shown(html)))
        try:
            write_comparison(html, found, platforms, together)
        except OSError as error:
            raise InputError(f"{html}: cannot be written: {error.strerror}") from None
    if as_json:
        from pydantic import TypeAdapter

        # an interval without an end is null: JSON has no infinity
        click.echo(TypeAdapter(list[BundleComparison]).dump_json(found, indent=2))
        return
    for sentence in platforms:
        click.echo(printable(sentence))
    for comparison in found:
        print_bundle_comparison(comparison, Console())
