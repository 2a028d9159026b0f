"""Each built-in study is one that the lab runs: a dry run of it refuses nothing."""

from __future__ import annotations

import pytest
from laboratory import Lab

from steelyard.study.load_study import catalogue, find_study
from steelyard.workflow.prepare import needs_of


@pytest.mark.parametrize("name", catalogue())
def test_a_study_that_misses_nothing_here_passes_its_dry_run(lab: Lab, name: str) -> None:
    missing = needs_of(find_study(name)[1], name).missing
    done = lab.run("run", name, "--dry-run", limit_s=300)
    assert (done.returncode, bool(missing)) in ((0, False), (2, True)), (missing, done.stderr)
    assert not lab.traces()
