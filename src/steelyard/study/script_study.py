"""A study to start from, for a user who has a script of SQL or of pgbench."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w

from steelyard.study.scripts import script_of
from steelyard.study.settings_file import settings_of

# what a study file cannot begin with
_SQL = re.compile(
    r"\s*(?:\\\w+\s|--|/\*|(?:begin|start|select|insert|update|delete|merge|with|create|copy|call)\b(?!\s*[.=]))",
    re.IGNORECASE,
)
_MAKES_TABLES = re.compile(r"(?:create|alter|drop|copy|truncate|vacuum)\b", re.IGNORECASE)
_PGBENCH_TABLE = re.compile(r"\bpgbench_(accounts|branches|tellers|history)\b")

_AS_IS = "as-is"
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
    script, stem = script_of(text), re.sub(r"[^a-z0-9]+", "-", file.rpartition(".")[0].lower()).strip("-")
    study = stem if re.match("[a-z]", stem) else f"script-{stem}".strip("-")
    study = study[:32].rstrip("-")
    if any(map(_MAKES_TABLES.match, script.commands)):
        return (
            f'SQL that makes tables belongs into a study as workload.schema_file = "{file}", or data_file;'
            " to start from: steelyard studies index-or-not"
        )
    tables = all(map(_PGBENCH_TABLE.search, filter(_uses_tables, script.commands)))
    data = _PGBENCH_DATA if tables else _OWN_DATA
    text = _STUDY.format(study=study, file=json.dumps(file), data=data)
    way = f"steelyard run --pgbench {file}; or save this study as {study}.toml and change what differs:"
    return f"{way}\n\n{text}"


def scripts_study(scripts: Sequence[str], scale: int, against: Path | None) -> tuple[str, tuple[str, ...]]:
    """A study of scripts of pgbench as TOML: the server as it is, and with the settings of a file.

    Second: a sentence per line of the file that is left out. against: a file in the form of postgresql.conf;
    None: the server as it is, alone. Raises InputError.
    """
    study: dict[str, Any] = {
        "name": "pgbench",
        "question": f"What does {' and '.join(scripts)} do on this server?",
        "workload": {"kind": "pgbench", "script": list(scripts), "scale": scale},
    }
    left_out: tuple[str, ...] = ()
    if against is not None:
        found = settings_of(against)
        left_out = found.left_out
        code = re.sub(r"[^A-Za-z0-9.+-]", "-", against.stem)[:24] or "FILE"
        study["question"] = f"Is {against.name} better for {' and '.join(scripts)}?"
        levels = {_AS_IS: {}, "other" if code == _AS_IS else code: found.settings}
        study["factors"] = {"settings": {"scope": "server", "levels": levels}}
    return _SUBJECT + tomli_w.dumps(study), left_out


def _uses_tables(command: str) -> bool:
    return re.match(r"(?:select|insert|update|delete|merge|with|copy)\b", command, re.IGNORECASE) is not None
