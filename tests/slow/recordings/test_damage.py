"""Damage to reports, tried widely."""

from __future__ import annotations

from pathlib import Path

import pytest
from damaged_files import FIXED, NAMES, TEXTS, found_wrong, of_one_line
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize("text", TEXTS, ids=NAMES)
@settings(FIXED, max_examples=100)
@given(data=st.data())
def test_a_damaged_line_gives_no_other_number(tmp_path: Path, text: str, data: st.DataObject) -> None:
    assert found_wrong(tmp_path / "report.txt", text, data.draw(of_one_line(text))) == []
