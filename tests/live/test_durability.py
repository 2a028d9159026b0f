"""Durability: servers commit as their own defaults have it; the fast way is a choice that everybody sees."""

from __future__ import annotations

import pytest
from durability import check_durability
from laboratory import Lab

from steelyard.errors import InputError
from steelyard.workflow.prepare import PreparedStudy

STUDY = """\
name = "durability"
question = "Which?"
subject = { kind = "null", durability = "off" }

[factors.handle]
scope = "client"
levels = { A = "none", B = "named" }
"""


@pytest.mark.parametrize(
    ("kind", "durability"), [("postgres", "server"), ("mariadb", "off"), ("sqlite", "off")]
)
def test_commits_wait_for_storage_unless_the_study_says_otherwise(
    lab: Lab, kind: str, durability: str
) -> None:
    check_durability(lab, kind, durability)


def test_a_subject_that_commits_nothing_has_no_durability() -> None:
    with pytest.raises(InputError, match=r"subject\.durability: .* has no durability"):
        PreparedStudy.of(STUDY, "my.toml")
