"""A win by giving up durability says what it costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.judge import judge


@pytest.mark.parametrize(
    ("scope", "name", "fast", "slow", "loses"),
    [
        ("session", "synchronous_commit", "off", "on", "B loses committed transactions"),
        ("session", "synchronous_commit", False, True, "B loses committed transactions"),
        ("server", "innodb_flush_log_at_trx_commit", 2, 1, "B loses committed transactions"),
        ("server", "fsync", "0", "on", "B may have damaged data"),
        ("server", "fsync", "f", "t", "B may have damaged data"),
        ("server", "appendonly", "no", "yes", "B loses committed transactions"),
        ("server", "appendonly", "no", None, ""),
        ("server", "full_page_writes", "off", "off", ""),
        ("server", "work_mem", "1MB", "4MB", ""),
    ],
)
def test_a_win_by_less_durability_says_what_a_crash_loses(
    scope: str, name: str, fast: object, slow: object, loses: str
) -> None:
    found = evidence_of(study_of({"f": "AB"}), {"A": Truth(), "B": Truth(throughput_per_s=15_000)})
    value = {"B": fast, "A": slow}
    options = tuple(
        replace(option, **{scope: {} if value[option.label] is None else {name: value[option.label]}})
        for option in found.options
    )
    verdict = judge(replace(found, options=options)).verdict
    assert verdict.winner == "B"
    assert (loses in verdict.consequence) if loses else "crash" not in verdict.consequence
