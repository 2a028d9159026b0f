"""The sets of queries that ship: whole, and marked where no test compares their counts with a server's."""

from __future__ import annotations

import pytest

from steelyard.monitors.sql.queries import NOT_VERIFIED, metrics_of, shipped

# tests/live/monitors/test_sql_sets.py compares their counts
LIVE = {"postgres-database", "postgres-wal", "mariadb-status", "mariadb-latches"}


@pytest.mark.parametrize("name", shipped())
def test_a_set_is_whole_and_says_whether_it_was_verified(name: str) -> None:
    found = shipped()[name]
    assert (found.mark == "") == (name in LIVE)
    assert found.title and found.manual
    assert found.verified or found.needs
    for metric in metrics_of("own", found):
        assert metric.meaning.endswith(f"({NOT_VERIFIED})") == (name not in LIVE)
        assert not metric.meaning.startswith("Column")
