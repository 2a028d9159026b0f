"""MariaDB as a subject: settings as it shows them, and what is refused before a server starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from small import small_study
from steelyard.errors import InputError
from steelyard.subjects.mariadb.session import taken
from steelyard.workflow.prepare import PreparedStudy


@pytest.mark.parametrize(
    ("asked", "shown"),
    [("20M", "20971520"), ("64MB", "67108864"),
     (True, "ON"), (False, "OFF"), (1, "ON"), (0, "OFF"), (2, "2"), (0.5, "0.500000"),
     ("pool-of-threads", "pool-of-threads"), ("1G", "1073741824")],
)  # fmt: skip
def test_a_setting_is_known_again_as_the_server_shows_it(asked: str | float, shown: str) -> None:
    assert taken(asked, shown)


@pytest.mark.parametrize(
    ("asked", "shown"), [("20M", "20971519"), (True, "OFF"), (2, "1"), ("pool-of-threads", "loaded")]
)
def test_another_value_is_not_taken_for_it(asked: str | float, shown: str) -> None:
    assert not taken(asked, shown)


def refused(text: str) -> str:
    with pytest.raises(InputError) as error:
        PreparedStudy.of(text, "small.toml")
    return f"{error.value}; {error.value.hint}"


def test_without_the_programs_the_study_is_refused_with_what_installs_them(tmp_path: Path) -> None:
    study = small_study(tmp_path, "mariadb")
    (tmp_path / "empty").mkdir()
    found = refused(study.read_text().replace('"mariadb"', f'"mariadb"\nbindir = "{tmp_path / "empty"}"'))
    assert "mariadbd" in found and "apt-get install mariadb-server" in found
