"""Bundles that are made once per session of tests, and copied for each use."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from laboratory import Lab, small_study
from session_folder import copy_of


@contextmanager
def finished_lab(draws: bool = False) -> Generator[Lab]:
    """A study of the null subject, two options in two blocks; judgement.json is what --json printed."""

    def make(folder: Path) -> None:
        lab = Lab(folder, draws=True)
        done = lab.run("run", small_study(folder), "--bundle", lab.bundle, "--json")
        assert done.returncode == 0, done.stderr
        (folder / "judgement.json").write_text(done.stdout)

    with copy_of("finished", make) as folder:
        yield Lab(folder, draws=draws)


@contextmanager
def interrupted_lab() -> Generator[Lab]:
    """A study of the null subject that Ctrl-C ended in its first or second block of three."""

    def make(folder: Path) -> None:
        lab = Lab(folder)
        process = lab.start("run", small_study(folder, blocks=3), "--bundle", lab.bundle)
        lab.wait_for(lambda: lab.runs() >= 2, "the second run")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 3

    with copy_of("interrupted", make) as folder:
        yield Lab(folder)
