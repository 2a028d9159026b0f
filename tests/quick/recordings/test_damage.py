"""A damaged report gives no other number in silence: the whole one says it too, or the line is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from damaged_files import FIXED, NAMES, TEXTS, Damage, found_wrong, of_one_line, whole_file_damages
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import LAYOUTS


@pytest.mark.parametrize("text", TEXTS, ids=NAMES)
@settings(FIXED, max_examples=5)
@given(data=st.data())
def test_a_damaged_line_gives_no_other_number(tmp_path: Path, text: str, data: st.DataObject) -> None:
    assert found_wrong(tmp_path / "report.txt", text, data.draw(of_one_line(text))) == []


@pytest.mark.parametrize("text", TEXTS, ids=NAMES)
def test_decimal_commas_and_windows_give_no_other_number(tmp_path: Path, text: str) -> None:
    for damage in whole_file_damages(text):
        assert found_wrong(tmp_path / "report.txt", text, damage) == [], damage.name


# each of these gave a zero, or a number of another column, without a word
SILENT = [
    ("kernel/perf_report", "# Samples: 200", "# Samples: #####"),
    ("solaris/mdb", "run            0 2000    3    29", "run              2000    3    29"),
    ("drivers/jmeter", "1772445600000,500,GET,200,OK,Users 1-1,text,true,,10", "1772445600000,500,GET"),
    ("drivers/pgbench_log", "1772445600 900000", "1772445600 77777 900000"),
    ("system/pidstat", "AM   999      4711   55.00", "AM   77777 999      4711   55.00"),
    ("kernel/lockmeter", "2000 50.0% 17.0% 33.0%", "2000 x% 17.0% 33.0%"),
    ("ase/sysmon", "40.0 %         2.0 %       8.0 %", "77777 40.0 %         2.0 %       8.0 %"),
    ("oracle/views", "   1000         10 ", "  #####         10 "),
    ("kernel/lockmeter", "0.7us( 125us)    0us ", "0.7us( xus)    0us "),
    ("drivers/go_tpc", "Count: 1200,", "Count: x,"),
    ("drivers/sysbench", "reconnects:                          0", "reconnects:                          x"),
    ("kernel/lock_stat", "         0.26 ", "         ##### "),
]


@pytest.mark.parametrize(("name", "old", "new"), SILENT, ids=[name for name, *_ in SILENT])
def test_a_damage_that_once_was_silent_is_reported(tmp_path: Path, name: str, old: str, new: str) -> None:
    text = next(text for text, format_ in LAYOUTS.items() if format_ == name and old in text)
    assert found_wrong(tmp_path / "report.txt", text, Damage("another", text.replace(old, new, 1))) == []
