"""The command that a page names next works as it is printed there, in the folder of the page."""

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from steelyard.recordings.importing import write_published
from steelyard.workflow.complaint import program


@pytest.mark.parametrize(
    ("page", "bundle"), [("bundle/report.html", "bundle"), ("pages/of mine/r.html", "it's 8 s.bundle")]
)
def test_the_next_command_of_a_page_works_in_its_folder(tmp_path: Path, page: str, bundle: str) -> None:
    write_published("dispatch-ff2", tmp_path / bundle)
    place = tmp_path / page
    place.parent.mkdir(parents=True, exist_ok=True)
    call = [sys.executable, "-m", "steelyard.cli", "report", bundle, "--html", page]
    subprocess.run(call, cwd=tmp_path, capture_output=True, check=True)
    printed = re.search(r"Next, in the folder of this page: <code>(.*?)</code>", place.read_text("utf-8"))
    assert printed
    command = unescape(printed[1])
    done = subprocess.run(
        ["bash", "-c", command], cwd=place.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "STD" in done.stdout


def test_a_program_beside_the_folder_is_called_by_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setattr(sys, "argv", ["bin/steelyard"])
    assert program() == "bin/steelyard"
    assert program(tmp_path / "bin") == "./steelyard"
    assert program(tmp_path / "bundle") == "../bin/steelyard"
