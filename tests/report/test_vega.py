"""The script of the page's pictures: kept between pages, and never in the way."""

from pathlib import Path

import pytest

from steelyard.report.vega import vega_script


def test_it_is_put_together_once_and_read_after_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = vega_script()
    assert "vegaEmbed" in made and "</script" not in made
    (kept,) = (tmp_path / "steelyard").iterdir()
    assert kept.read_text() == made
    kept.write_text("kept")
    assert vega_script() == "kept"


def test_without_a_place_to_keep_it_the_page_has_it_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "vegaEmbed" in vega_script()
