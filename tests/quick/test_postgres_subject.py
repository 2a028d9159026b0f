"""PostgreSQL as a subject: settings as it shows them, and what is refused before a server starts."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest
from needs import needs_root

from small import small_study
from steelyard.errors import InputError
from steelyard.study.load_study import parse_study, plan_study
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import check
from steelyard.subjects.postgres.binaries import find_bindir, reachable
from steelyard.subjects.postgres.cluster import checksums
from steelyard.subjects.postgres.workload_tables import load_statements
from steelyard.workflow.prepare import PreparedStudy
from steelyard.workloads import work_of

SCRIPT_STUDY = """
name = "own"
question = "?"
[subject]
kind = "postgres"
[workload]
kind = "sql"
schema_sql = "{sql}"
[workload.statements]
look = {{ sql = "select 1" }}
[factors.handle]
scope = "client"
levels = {{ a = "none", b = "named" }}
[plan]
clients = [1]
"""


def refused(text: str, name: str) -> InputError:
    with pytest.raises(InputError) as error:
        PreparedStudy.of(text, name)
    return error.value


def test_server_factors_are_refused_where_the_server_is_not_ours(tmp_path: Path) -> None:
    text = small_study(tmp_path, "postgres").read_text()
    text = text.replace('"postgres"', '"postgres"\ndsn = "postgresql://a@127.0.0.1:1/d"')
    levels = 'scope = "server"\nsetting = "work_mem"\nlevels = { A = "1MB", B = "2MB" }'
    text = text.replace('scope = "client"\nlevels = { simple = "none", named = "named" }', levels)
    error = refused(text, "small.toml")
    assert "use scope session or client" in f"{error} {error.hint}"


def test_data_checksums_are_refused_where_they_cannot_be_chosen(tmp_path: Path) -> None:
    text = """\
name = "kept"
question = "Which?"
subject = { kind = "KIND", data_checksums = "off" }
workload = { kind = "sql", statements.one.sql = "select 1" }
factors.handle = { scope = "client", levels = { A = "none", B = "named" } }
"""
    study, found = plan_study(text.replace("KIND", "sqlite"), "kept.toml")
    with pytest.raises(InputError, match="has no data_checksums"):
        check(study, found)
    own = f'kind = "sql", data_directory = "{tmp_path}", data_database = "shop", '
    study, found = plan_study(text.replace("KIND", "postgres").replace('kind = "sql", ', own), "kept.toml")
    with pytest.raises(InputError, match="a data directory keeps its own"):
        checksums(study, found)


def test_only_the_tables_of_the_study_are_vacuumed() -> None:
    lookup = load_statements(work_of(StatementWorkload(rows=10)))
    assert lookup[-1] == "vacuum (freeze, analyze) item"
    text = SCRIPT_STUDY.format(
        sql="create table account (id int);\\nCREATE UNLOGGED TABLE if not exists s.ledger (n int);"
        "\\ncreate temporary table t (n int)"
    )
    own = load_statements(work_of(parse_study(text, "own.toml").workload))
    assert own[-1] == "vacuum (freeze, analyze) account, s.ledger"


def test_a_folder_that_has_no_server_names_the_newest_that_the_lab_has() -> None:
    with pytest.raises(InputError) as error:
        find_bindir("newest")
    assert "`embedded` is the newest version" in error.value.hint


@needs_root
def test_programs_that_cannot_be_copied_for_the_servers_user_name_the_closed_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bindir = tmp_path / "closed" / "pginstall" / "bin"
    bindir.mkdir(parents=True)
    (tmp_path / "closed").chmod(0o700)
    for part in (bindir, bindir.parent):
        part.chmod(0o755)
    program = bindir / "postgres"
    program.write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 18.6'\n")
    program.chmod(0o755)

    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(shutil, "copytree", read_only)
    with pytest.raises(InputError, match="Read-only file system") as refused:
        reachable(bindir)
    assert f"chmod o+x {tmp_path / 'closed'}" in str(refused.value.hint)
