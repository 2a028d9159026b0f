"""Durability of the other servers and the other choice."""

from __future__ import annotations

import pytest
from durability import check_durability
from laboratory import Lab


@pytest.mark.parametrize(
    ("kind", "durability"), [("postgres", "off"), ("mariadb", "server"), ("sqlite", "server")]
)
def test_commits_wait_for_storage_unless_the_study_says_otherwise(
    lab: Lab, kind: str, durability: str
) -> None:
    check_durability(lab, kind, durability)
