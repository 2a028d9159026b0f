"""A damaged report gives no other number in silence: the whole one says it too, or the line is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recordings.damaged_files import NUMBER, Damage, damages, said_by, whole_file_damages, wrong
from recordings.layouts import LAYOUTS
from steelyard.study.errors import InputError

TEXTS = list(LAYOUTS)
NAMES = [f"{i}-{name}" for i, name in enumerate(LAYOUTS.values())]
# isql and Oracle's reports have columns with places: cells are cut by them, not by blanks
RULED = ("ase/monitor", "oracle/")


def found_wrong(place: Path, text: str, damage: Damage) -> list[str]:
    place.write_text(text)
    whole = said_by(place)
    # Windows line ends must reach the reader
    place.write_bytes(damage.text.encode())
    try:
        return wrong(whole, damage, said_by(place))
    except InputError as refused:
        assert place.name in str(refused)
        return []


@pytest.mark.parametrize("text", TEXTS, ids=NAMES)
@settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_damaged_line_gives_no_other_number(tmp_path: Path, text: str, data: st.DataObject) -> None:
    lines = text.splitlines()
    line = data.draw(st.integers(0, len(lines) - 1), label="line")
    word = data.draw(st.integers(0, max(0, len(NUMBER.findall(lines[line])) - 1)), label="word")
    several = list(damages(text, line, word, LAYOUTS[text].startswith(RULED)))
    damage = data.draw(st.sampled_from(several), label="damage")
    assert found_wrong(tmp_path / "report.txt", text, damage) == []


@pytest.mark.parametrize("text", TEXTS, ids=NAMES)
def test_decimal_commas_mail_and_windows_give_no_other_number(tmp_path: Path, text: str) -> None:
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
