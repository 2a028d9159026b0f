"""steelyard doctor."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Findings as JSON.")
def command(as_json: bool) -> None:
    """Say what this machine and user permit, which servers are here, how noisy it is now."""
    from rich.console import Console
    from rich.table import Table

    from steelyard.lab.doctor import diagnose

    findings = diagnose()
    if as_json:
        json.dump([asdict(finding) for finding in findings], sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    marks = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "missing": "[red]missing[/]"}
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in findings:
        idle = not finding.hint or finding.hint.startswith("nothing to do")
        text = finding.text if idle else f"{finding.text}\n[dim]hint: {finding.hint}[/]"
        table.add_row(marks[finding.state], finding.name, text)
    Console().print(table)
