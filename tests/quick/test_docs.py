"""The reference is written from the code; what is kept in the repository is the present one."""

from __future__ import annotations

import ast
import json
import re
import runpy
from pathlib import Path

from steelyard.analysis.judgement.notices import FOUND, LIMITS, SEVERE

DOCS = Path(__file__).parents[2] / "docs"
CONFIGURATION = runpy.run_path(str(DOCS / "conf.py"))
PAGES = ("study.md", "bundle.md", "import.md", "metrics.md", "monitor-sets.md", "notices.md")


def test_the_reference_pages_are_those_that_the_code_makes() -> None:
    kept = {name: (DOCS / "reference" / name).read_text() for name in PAGES}
    # python docs/conf.py writes them
    assert CONFIGURATION["PAGES"] == kept


def test_every_notice_that_the_analysis_makes_is_in_the_list() -> None:
    source = DOCS.parent / "src" / "steelyard"
    made = {
        node.args[0].value
        for path in (source / "analysis").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Notice"
        if node.args and isinstance(node.args[0], ast.Constant)
    }
    for path in (DOCS.parent / "tests" / "golden").glob("*/judgement.json"):
        made |= {notice["code"] for notice in json.loads(path.read_text())["judgement"]["notices"]}
    listed = [*SEVERE, *FOUND, *LIMITS]
    assert len(made) > 30 and len({*listed}) == len(listed)
    # those of recordings are named by their formats
    assert made - {"recording"} <= {*listed}


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
