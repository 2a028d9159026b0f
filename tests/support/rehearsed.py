"""A study that is refused, in a dry run and in a run."""

from __future__ import annotations

import re
from dataclasses import replace

from broken_studies import Broken
from laboratory import Lab


def is_refused(lab: Lab, broken: Broken) -> None:
    """With the same places and exit code 2 both times; nothing is measured, and nothing is left."""
    path = broken.written(lab.folder)
    said: list[set[str]] = []
    for how in (("--dry-run",), ("--bundle", lab.bundle)):
        done = lab.run("run", path, *how)
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert done.returncode == 2 and errors, (broken.what, how, done.stderr)
        assert any(f": {broken.place}" in line for line in errors) or not broken.place, (broken.what, errors)
        assert broken.words in done.stderr, (broken.what, how, done.stderr)
        assert "Traceback" not in done.stderr
        said.append({found[0] for line in errors if (found := re.match(r"error: \S+?:\d+: [^ :]+", line))})
    assert said[0] == said[1], broken.what
    assert said[0] or not broken.place
    assert not lab.bundle.exists() and not lab.ours() and not lab.traces()


def without_files(lab: Lab, most: int) -> Lab:
    """The lab where a process may open so many files."""
    return replace(lab, prefix=("prlimit", f"--nofile={most}:{most}"))
