"""steelyard schema."""

import json

import click


@click.command()
@click.argument("what", type=click.Choice(["study", "judgement", "bundle"]), default="study")
def command(what: str) -> None:
    """Print the JSON Schema of study files (default) or of the --json output, or a bundle's tables."""
    if what == "study":
        from steelyard.study.load_study import json_schema

        click.echo(json_schema())
    elif what == "judgement":
        from steelyard.report.export import judgement_schema

        click.echo(json.dumps(judgement_schema(), indent=2))
    else:
        from steelyard.run_tables.schema import DERIVED, TABLES

        for table in (*TABLES, *DERIVED):
            click.echo(f"{table.name}: {table.row}")
            for column in table.columns:
                click.echo(f"    {column.name:14} {column.type:8} {column.text}".rstrip())
