"""Decision support on MariaDB."""

from __future__ import annotations

from pathlib import Path

from laboratory import Lab
from query_answers import check_answers, duckdb_answers, mariadb


def test_a_server_gives_duckdbs_answers_to_the_same_data_and_the_published_ones(
    lab: Lab, tmp_path: Path
) -> None:
    check_answers(mariadb, lab, duckdb_answers(tmp_path))
