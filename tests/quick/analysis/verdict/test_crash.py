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


@pytest.mark.parametrize(
    ("sql", "loses"),
    [
        ("alter table t set UNLOGGED", "B loses all rows of some tables in a crash: unlogged"),
        ("alter role lab set synchronous_commit to off", "B loses committed transactions"),
        ("select set_config('synchronous_commit', 'off', false)", "B loses committed transactions"),
        ("alter table t engine = MyISAM", "B may have damaged data"),
        ("alter table t engine=memory", "B loses all rows of some tables"),
        ("create index on t (fsync)", ""),
    ],
)
def test_sql_of_a_study_may_give_up_durability_as_well(sql: str, loses: str) -> None:
    found = evidence_of(study_of({"f": "AB"}), {"A": Truth(), "B": Truth(throughput_per_s=15_000)})
    options = tuple(replace(o, schema={"f": sql} if o.label == "B" else {}) for o in found.options)
    verdict = judge(replace(found, options=options)).verdict
    assert (loses in verdict.consequence) if loses else "crash" not in verdict.consequence


def test_where_every_option_gives_up_durability_a_notice_says_so() -> None:
    found = evidence_of(study_of({"f": "AB"}), {"A": Truth(), "B": Truth(throughput_per_s=15_000)})
    options = tuple(replace(option, server={"fsync": False}) for option in found.options)
    (notice,) = [n for n in judge(replace(found, options=options)).notices if n.code == "durability-off"]
    assert notice.text.startswith("every option may have damaged data after a crash (fsync)")
