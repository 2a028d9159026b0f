"""Statements that cannot run: further errors of each server."""

from __future__ import annotations

import pytest
from laboratory import Lab
from tried_statements import refuses_the_statement


@pytest.mark.parametrize(
    ("subject", "sql", "words"),
    [
        ("postgres", "selec 1", 'syntax error at or near "selec" (42601)'),
        ("postgres", "select 1 from item where id = 'seven'", "invalid input syntax for type integer"),
        ("postgres", "select v + 1 from item", "operator does not exist"),
        pytest.param(
            "mariadb", "selec 1", "You have an error in your SQL syntax", marks=pytest.mark.needs("MariaDB")
        ),
        ("sqlite", "selec 1", 'near "selec": syntax error'),
    ],
)
def test_a_statement_that_cannot_run_is_an_error_with_its_line_and_leaves_no_bundle(
    lab: Lab, subject: str, sql: str, words: str
) -> None:
    refuses_the_statement(lab, subject, sql, words)
