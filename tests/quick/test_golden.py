"""Ten kept bundles: terminal, JSON and the text of the page are as they were accepted.

`pytest tests/quick/test_golden.py --accept` writes them anew. Commit them alone, with a message that says
which sentence changed and why. Figures of the texts are rounded: they are those of the locked libraries.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from laboratory import Lab

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = [place.name.removesuffix(".tar.xz") for place in sorted(GOLDEN.glob("*.tar.xz"))]
_BLOCKS = {"p", "div", "section", "h1", "h2", "h3", "h4", "tr", "li", "table", "details", "summary", "figure"}
_CELLS = {"td", "th"}
_UNREAD = {"script", "style", "svg"}
_SPOKEN = {"title", "alt", "aria-label"}
# the same text on every terminal, in every place; whether a shell finds `steelyard` decides the next command
_ANYWHERE = {"COLUMNS": "120", "PATH": "", "NO_COLOR": "1", "FORCE_COLOR": "", "TERM": "dumb", "TZ": "UTC"}
# fitted curves and shares of an effect are searched: to their own tolerance, so they differ by processor
_SEARCHED = {"scaling": 1e-5, "effects": 1e-6}


class _Text(HTMLParser):
    """The text of a page, a line per block, without its charts."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unread += tag in _UNREAD
        self._divide(tag)
        for name, text in attrs:
            if name in _SPOKEN and text and not self._unread:
                self.parts.append(f"[{text}] ")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in _UNREAD
        self._divide(tag)

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.parts.append(re.sub(r"\s+", " ", data))

    def _divide(self, tag: str) -> None:
        if not self._unread and tag in _BLOCKS | _CELLS:
            self.parts.append("\n" if tag in _BLOCKS else " | ")


def text_of_page(page: str) -> str:
    parser = _Text()
    parser.feed(page)
    lines = (re.sub(r"[ |]*\|[ |]*", " | ", line).strip(" |") for line in "".join(parser.parts).split("\n"))
    return "\n".join(line for line in lines if line) + "\n"


def outputs(lab: Lab, name: str) -> dict[str, str]:
    """Outputs of the report of a kept bundle, by file name."""
    with tarfile.open(GOLDEN / f"{name}.tar.xz") as kept:
        kept.extractall(lab.folder, filter="data")
    bundle = f"{name}.bundle"
    terminal = lab.run("report", bundle, **_ANYWHERE)
    judgement = lab.run("report", bundle, "--json", **_ANYWHERE)
    page = (lab.folder / bundle / "report.html").read_text(encoding="utf-8")
    return {
        "terminal.txt": terminal.stdout,
        "messages.txt": f"exit codes {terminal.returncode} and {judgement.returncode}\n{terminal.stderr}",
        "judgement.json": json.dumps(json.loads(judgement.stdout), indent=1, ensure_ascii=False) + "\n",
        "page.txt": text_of_page(page),
    }


def near(found: Any, expected: Any, to: float = 1e-9) -> bool:
    """Equal, numbers to the relative difference `to`."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(
            near(found[key], expected[key], _SEARCHED.get(key, to)) for key in expected
        )
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(
            near(one, other, to) for one, other in zip(found, expected, strict=True)
        )
    if isinstance(expected, float):
        return found == pytest.approx(expected, rel=to, abs=0)
    return found == expected


def test_there_are_ten() -> None:
    assert sorted(place.name for place in GOLDEN.iterdir() if place.is_dir()) == NAMES and len(NAMES) == 10


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_bundle_says_what_was_accepted(lab: Lab, name: str, request: pytest.FixtureRequest) -> None:
    accepted = GOLDEN / name
    found = outputs(lab, name)
    if request.config.getoption("--accept"):
        accepted.mkdir(exist_ok=True)
        for file, text in found.items():
            (accepted / file).write_text(text, encoding="utf-8")
        pytest.skip("accepted")
    kept = {file: (accepted / file).read_text(encoding="utf-8") for file in found}
    judgements = [json.loads(texts.pop("judgement.json")) for texts in (found, kept)]
    assert found == kept
    if not near(*judgements):
        # as text, for the difference to be shown
        assert judgements[0] == judgements[1]


def test_a_reader_that_stops_reading_still_gets_the_page(lab: Lab) -> None:
    with tarfile.open(GOLDEN / "turns.tar.xz") as kept:
        kept.extractall(lab.folder, filter="data")
    page = lab.folder / "turns.bundle" / "report.html"
    page.unlink(missing_ok=True)
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "steelyard.cli", "report", "turns.bundle"]
    done = subprocess.run(command, stdout=writing, cwd=lab.folder, check=False)
    os.close(writing)
    assert done.returncode == 0 and page.exists()
