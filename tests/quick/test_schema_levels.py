"""Factors of scope schema: what is refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from schema_studies import IX, LINE, own_study

from steelyard.errors import InputError
from steelyard.workflow.prepare import PreparedStudy


def is_refused(text: str, words: str, line: int = LINE) -> None:
    with pytest.raises(InputError) as error:
        PreparedStudy.of(text, "own.toml")
    assert f"own.toml:{line}: " in str(error.value)
    assert words in str(error.value)


WRONG = [
    ('levels = { A = "", B = 7 }', LINE, "factors.index.levels.B: expected SQL, a text in quotes"),
    ('levels = { A = "", B = { sq = "x" } }', LINE, 'unknown key "sq"; did you mean "sql"?'),
    ('levels = { A = "", B = { sql_file = "no.sql" } }', LINE, "no.sql: no such file"),
    ('setting = "x"\nlevels = { A = "", B = "x" }', LINE, "setting: has no effect: a level of scope schema"),
]


@pytest.mark.parametrize(("lines", "line", "words"), WRONG)
def test_a_wrong_level_is_an_error_with_its_line(tmp_path: Path, lines: str, line: int, words: str) -> None:
    study = own_study(tmp_path, "sqlite", f'[factors.index]\nscope = "schema"\n{lines}')
    is_refused(study.read_text(), words, line)


@pytest.mark.parametrize(
    ("subject", "dsn"),
    [("postgres", "postgresql://localhost/d"), ("mariadb", "mysql://root@localhost/d")],
)
def test_the_schema_of_a_server_at_an_address_is_never_changed(
    tmp_path: Path, subject: str, dsn: str
) -> None:
    text = own_study(tmp_path, subject, IX).read_text()
    text = text.replace("\n\n[workload]", f'\ndsn = "{dsn}"\n\n[workload]', 1)
    words = (
        "factors.index.scope: scope 'schema' would change the tables of a server that the lab did not start"
    )
    is_refused(text, words)


def test_a_subject_without_tables_has_no_schema(tmp_path: Path) -> None:
    text = own_study(tmp_path, "sqlite", IX).read_text().replace('kind = "sqlite"', 'kind = "null"')
    is_refused(text, "scope 'schema' cannot act on", LINE - 1)
