"""The reference is written from the code; what is kept in the repository is the present one."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
CONFIGURATION = runpy.run_path(str(DOCS / "conf.py"))
PAGES = ("study.md", "bundle.md", "recording.md", "import.md", "metrics.md", "monitor-sets.md")


def test_the_reference_pages_are_those_that_the_code_makes() -> None:
    kept = {name: (DOCS / "reference" / name).read_text() for name in PAGES}
    # python docs/conf.py writes them
    assert CONFIGURATION["PAGES"] == kept


def test_every_link_between_pages_leads_somewhere() -> None:
    link = re.compile(r"\]\(([\w./-]+\.(?:md|png))(?:#[\w-]*)?\)")
    pages = [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]
    broken = [
        f"{page.name}: {target}"
        for page in pages
        if "_build" not in page.parts
        for target in link.findall(page.read_text())
        if not (page.parent / target).exists()
    ]
    assert not broken
