"""A study to start from, for a user who has a script of SQL or of pgbench."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import tomli_w

from steelyard.sql_text import commands_of
from steelyard.study.errors import InputError

# what a study file cannot begin with
_SQL = re.compile(
    r"\s*(?:\\\w+\s|--|/\*|(?:begin|start|select|insert|update|delete|merge|with|create|copy|call)\b(?!\s*[.=]))",
    re.IGNORECASE,
)
_MAKES_TABLES = re.compile(r"(?:create|alter|drop|copy|truncate|vacuum)\b", re.IGNORECASE)
_PGBENCH_TABLE = re.compile(r"\bpgbench_(accounts|branches|tellers|history)\b")

_OWN_DATA = 'data_file = "data.sql"          # your tables, by: pg_dump DATABASE > data.sql'
_PGBENCH_DATA = "scale = 1                       # of the tables pgbench_*, which are made"
_SUBJECT = 'subject.kind = "postgres"\n'
_STUDY = """\
name = "{study}"
question = "Does {study} gain from prepared statements?"

[subject]
kind = "postgres"

[workload]
kind = "pgbench"
script = [{file}]
{data}

[factors.handle]                # the one thing that changes: or a setting, an index, a version
scope = "client"
levels = {{ SIMPLE = "none", PREPARED = "named" }}

[plan]
clients = [1, 8]
warm_up_s = 2
measure_s = 5
blocks = 6
"""


def is_script(text: str) -> bool:
    """Whether a text is SQL or a script of pgbench, and no study."""
    return _SQL.match(text) is not None


def instead_of_script(text: str, file: str) -> str:
    """A study that executes the script, as a hint. file: its name, beside which the study is saved."""
    commands, stem = commands_of(text), re.sub(r"[^a-z0-9]+", "-", file.rpartition(".")[0].lower()).strip("-")
    study = stem if re.match("[a-z]", stem) else f"script-{stem}".strip("-")
    study = study[:32].rstrip("-")
    if any(map(_MAKES_TABLES.match, commands)):
        return (
            f'SQL that makes tables belongs into a study as workload.schema_file = "{file}", or data_file;'
            " to start from: steelyard studies index-or-not"
        )
    tables = all(map(_PGBENCH_TABLE.search, filter(_uses_tables, commands)))
    data = _PGBENCH_DATA if tables else _OWN_DATA
    text = _STUDY.format(study=study, file=json.dumps(file), data=data)
    way = f"steelyard run --pgbench {file}; or save this study as {study}.toml and change what differs:"
    return f"{way}\n\n{text}"


def scripts_study(scripts: Sequence[str], scale: int, variables: Sequence[str]) -> str:
    """A study of scripts of pgbench as TOML: of the server as it is, alone. variables: NAME=VALUE.

    Raises InputError.
    """
    study: dict[str, Any] = {
        "name": "pgbench",
        "question": f"What does {' and '.join(scripts)} do on this server?",
        "workload": {"kind": "pgbench", "script": list(scripts), "scale": scale},
    }
    for given in variables:
        name, equals, value = given.partition("=")
        if not name or not equals:
            raise InputError(f"-D {given}: is not NAME=VALUE", "such as -D region=3")
        study["workload"].setdefault("variables", {})[name] = _number(value)
    return _SUBJECT + tomli_w.dumps(study)


def _uses_tables(command: str) -> bool:
    return re.match(r"(?:select|insert|update|delete|merge|with|copy)\b", command, re.IGNORECASE) is not None


def _number(text: str) -> int | float | str:
    """A number where the text is one, as pgbench reads it."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
