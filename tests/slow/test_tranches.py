"""Sleeps for latches of every further build of PostgreSQL, and of one that does not sleep."""

from __future__ import annotations

from pathlib import Path

import pytest
from laboratory import Lab
from sleepers import (
    BUILDS,
    gets_of_a_look_up,
    names_the_tranches,
    needs_uprobes,
    reads_without_sleep,
    sleeps_for_the_log,
)

each_further_build = pytest.mark.parametrize("bindir", BUILDS[1:], ids=lambda bindir: bindir.parent.name)


@needs_uprobes
@pytest.mark.parametrize("bindir", BUILDS, ids=lambda bindir: bindir.parent.name)
def test_who_reads_alone_does_not_sleep_and_that_is_told(lab: Lab, bindir: Path) -> None:
    reads_without_sleep(lab, bindir)


@needs_uprobes
@each_further_build
def test_who_commits_at_once_sleeps_for_the_write_of_the_log(lab: Lab, bindir: Path) -> None:
    sleeps_for_the_log(lab, bindir)


@each_further_build
def test_names_are_those_of_the_server_itself(bindir: Path) -> None:
    names_the_tranches(bindir)


@needs_uprobes
@each_further_build
def test_gets_are_those_that_a_look_up_takes(lab: Lab, bindir: Path) -> None:
    gets_of_a_look_up(lab, bindir)
