"""Schema, data and statements in files, on both servers."""

from __future__ import annotations

import pytest
from laboratory import Lab
from own_studies import ROWS, SCHEMA, own_study, refuses_the_script, runs


@pytest.mark.parametrize("subject", ["postgres", pytest.param("mariadb", marks=pytest.mark.needs("MariaDB"))])
def test_schema_data_and_statements_are_read_from_files_beside_the_study(lab: Lab, subject: str) -> None:
    (lab.folder / "schema.sql").write_text(SCHEMA + "create table other (v varchar(9) default ';');\n")
    (lab.folder / "rows.sql").write_text(ROWS)
    runs(lab, own_study(lab.folder, subject, 'schema_file = "schema.sql"\ndata_file = "rows.sql"'))


@pytest.mark.needs("MariaDB")
def test_a_script_that_cannot_run_is_an_error_of_the_study(lab: Lab) -> None:
    refuses_the_script(lab, "mariadb", "data_file", "at line 3: You have an error")
