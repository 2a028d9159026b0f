"""The script of the page's pictures: kept between pages where nobody else changes it, never in the way."""

import hashlib
import os
from pathlib import Path

import pytest
from needs import needs_root

from steelyard.report.page import embedded
from steelyard.report.page.embedded import vega_script


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "steelyard"


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script as if put together: what is kept of it does not depend on what is in it."""
    monkeypatch.setattr(embedded, "draw", lambda *_: b"window.vegaEmbed = vegaEmbed;")


def kept_as(script: str) -> bytes:
    return hashlib.sha256(script.encode()).hexdigest().encode() + b"\n" + script.encode()


def test_it_is_put_together_once_and_read_after_that(cache: Path) -> None:
    made = vega_script()
    assert "vegaEmbed" in made and "</script" not in made
    (kept,) = cache.iterdir()
    assert kept.read_bytes() == kept_as(made)
    kept.write_bytes(kept_as("kept"))
    assert vega_script() == "kept"


@pytest.mark.usefixtures("drawn")
def test_what_is_not_whole_is_made_anew(cache: Path) -> None:
    cache.mkdir(mode=0o700)
    made = vega_script()
    (kept,) = cache.iterdir()
    for content in (b"", b"kept", kept_as("window.vegaEmbed")[:-1], b"\xff\n\xff"):
        kept.write_bytes(content)
        assert vega_script() == made, content
        assert kept.read_bytes() == kept_as(made), content


@pytest.mark.usefixtures("drawn")
def test_what_others_may_have_written_is_not_read(cache: Path, tmp_path: Path) -> None:
    vega_script()
    (kept,) = cache.iterdir()
    kept.write_bytes(kept_as("theirs"))
    cache.chmod(0o777)
    assert "vegaEmbed" in vega_script()
    cache.chmod(0o700)
    assert vega_script() == "theirs"
    cache.rename(tmp_path / "other")
    cache.symlink_to(tmp_path / "other")
    assert "vegaEmbed" in vega_script()


@pytest.mark.usefixtures("drawn")
def test_a_link_in_its_place_is_not_followed(cache: Path, tmp_path: Path) -> None:
    vega_script()
    (kept,) = cache.iterdir()
    (tmp_path / "theirs").write_bytes(kept_as("theirs"))
    kept.unlink()
    kept.symlink_to(tmp_path / "theirs")
    made = vega_script()
    assert "vegaEmbed" in made
    assert not kept.is_symlink() and kept.read_bytes() == kept_as(made)
    assert (tmp_path / "theirs").read_bytes() == kept_as("theirs")


@needs_root
@pytest.mark.usefixtures("drawn")
def test_a_file_of_another_user_is_not_read(cache: Path) -> None:
    vega_script()
    (kept,) = cache.iterdir()
    kept.write_bytes(kept_as("theirs"))
    os.chown(kept, 65534, 65534)
    assert "vegaEmbed" in vega_script()


@pytest.mark.usefixtures("drawn")
def test_without_a_place_to_keep_it_the_page_has_it_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "vegaEmbed" in vega_script()
