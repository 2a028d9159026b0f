"""steelyard import FILES."""

from pathlib import Path

import click

from steelyard.cli.completion import PATH, recordings


@click.command("import")
@click.argument("files", nargs=-1, shell_complete=recordings)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=FILES",
    help="Files of one option; a pattern in quotes. Repeatable.",
)
@click.option(
    "--by-folder", "folders", is_flag=True, help="The folder of a file is its option: OPTION/block-1/FILE."
)
@click.option(
    "--format", "format_", metavar="NAME", help="Format of the files, where their beginning does not tell."
)
@click.option(
    "--minutes", type=click.FloatRange(min=0, min_open=True), help="Longest time of the import. Default: 10."
)
@click.option("-o", "--to", type=PATH, metavar="FOLDER", help="Bundle to write. Default: NAME.bundle here.")
@click.option("--dry-run", is_flag=True, help="Print the runs and what is not understood; write nothing.")
@click.option("--list", "listed", is_flag=True, help="List the formats and the published recordings.")
@click.option("--example", is_flag=True, help="Print a schedule to start from.")
@click.option("--example-table", is_flag=True, help="Print a schedule of published tables.")
def command(
    files: tuple[str, ...],
    options: tuple[str, ...],
    folders: bool,
    format_: str | None,
    minutes: float | None,
    to: Path | None,
    dry_run: bool,
    listed: bool,
    example: bool,
    example_table: bool,
) -> None:
    """Turn measurements made elsewhere into a bundle: the same tables, comparison and report.

    FILES are outputs of databases, kernels, tools and load drivers; a schedule (TOML) that says which file
    belongs to which option, or what the columns of tables mean; or a published recording by name.

    \b
    steelyard import --option P='process/*.txt' --option T='threaded/*.txt' -o kernel-mode.bundle
    steelyard import results/ --by-folder --dry-run
    steelyard import schedule.toml
    """
    from steelyard.recordings import published, schedule
    from steelyard.recordings.importing import import_files, write_recording
    from steelyard.recordings.notices import lines_of_import
    from steelyard.recordings.registry import lines_of_formats
    from steelyard.report.terminal.progress import reading
    from steelyard.workflow.complaint import say

    given = [value for value in click.get_current_context().params.values() if value]
    if (listed or example or example_table) and len(given) > 1:
        raise click.UsageError("--list, --example and --example-table print a text: give one of them alone")
    if example or example_table:
        click.echo(published.example() if example_table else schedule.EXAMPLE, nl=False)
        return
    if listed or not given:
        click.echo("\n".join(lines_of_formats()))
        return
    name = to.name.removesuffix(".bundle") if to else ""
    with reading() as progress:
        found = import_files(files, options, folders, progress, name, format_ or "", minutes)
    for line in lines_of_import(found.runs, found.unread, every_line=dry_run):
        click.echo(line) if dry_run else say(line)
    path = to or Path(f"{found.name}.bundle")
    if dry_run:
        say(f"{path} is not written: --dry-run")
        return
    study = write_recording(found, path, "the study of the recording")
    say(f"{path}: {study.question}")
    say(f"next: steelyard report {path}")
