"""Shows a bundle: verdict on standard output, report.html beside the runs."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from steelyard.analysis.judge import judge
from steelyard.bundle.reader import Bundle
from steelyard.report import gather
from steelyard.report.html import write_report
from steelyard.report.json_export import judgement_json
from steelyard.report.terminal import print_next, print_verdict


def show(path: Path, html: Path | None = None, images: Path | None = None, as_json: bool = False) -> None:
    """Judges the bundle, prints the verdict, writes its report. Raises InputError."""
    bundle = Bundle(path)
    judgement = judge(bundle.evidence())
    series = gather.series(bundle)
    page = html or path / "report.html"
    next_command = f'steelyard sql {path} "select * from runs"'
    about = gather.about(bundle, str(page), next_command)
    console = Console()
    if not as_json:
        # the answer first: the page takes seconds
        print_verdict(judgement, about, console)
    try:
        write_report(page, judgement, series, about)
    except OSError as error:
        # a full disk must not cost the verdict
        click.echo(f"error: {page}: the report could not be written: {error.strerror}", err=True)
        about = replace(about, report="")
    if images is not None:
        from steelyard.report.images import write_images

        write_images(images, judgement, series, about)
    if as_json:
        json.dump(judgement_json(judgement, about), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print_next(about, console)
