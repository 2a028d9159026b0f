"""A study to start from, for a user who has a script of SQL or of pgbench; its `\\set` lines as generators.

https://www.postgresql.org/docs/current/pgbench.html#PGBENCH-METACOMMANDS
"""

import json
import re
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass

import tomli_w

from steelyard.errors import InputError
from steelyard.sql_text import commands_of, script_of
from steelyard.study.expressions import Place, Tree, parse
from steelyard.study.expressions import variables_of as variables_in
from steelyard.study.key_types import Toml

# what a study file cannot begin with
_SQL = re.compile(
    r"\s*(?:\\\w+\s|--|/\*|(?:begin|start|select|insert|update|delete|merge|with|create|copy|call)\b(?!\s*[.=]))",
    re.IGNORECASE,
)
_MAKES_TABLES = re.compile(r"(?:create|alter|drop|copy|truncate|vacuum)\b", re.IGNORECASE)
_USES_TABLES = re.compile(r"(?:select|insert|update|delete|merge|with|copy)\b", re.IGNORECASE)
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

_SET = re.compile(r"^[ \t]*\\set[ \t]+(\w+)[ \t]+([^\n]+?)[ \t]*$", re.MULTILINE)
_EXPRESSION_CHARACTERS_MAX = 200
_INTEGER_MAX = 2**63 - 1
_OPERATORS = {
    "add": int.__add__,
    "sub": int.__sub__,
    "mul": int.__mul__,
    "div": int.__floordiv__,
    "neg": int.__neg__,
}


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
    tables = all(map(_PGBENCH_TABLE.search, filter(_USES_TABLES.match, commands)))
    data = _PGBENCH_DATA if tables else _OWN_DATA
    text = _STUDY.format(study=study, file=json.dumps(file), data=data)
    way = f"steelyard run --pgbench {file}; or save this study as {study}.toml and change what differs:"
    return f"{way}\n\n{text}"


def scripts_study(scripts: Sequence[str], scale: int, variables: Sequence[str]) -> str:
    """A study of scripts of pgbench as TOML: of the server as it is, alone. variables: NAME=VALUE.

    Raises InputError.
    """
    study: Toml = {
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


def _number(text: str) -> int | float | str:
    """A number where the text is one, as pgbench reads it."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


@dataclass(frozen=True)
class _Variable:
    """A `\\set` as a generator of the study file. line: as written; by_scale: depends on :scale, 1 here."""

    name: str
    generator: str
    line: str
    by_scale: bool


def variables_of(text: str) -> list[_Variable]:
    """Of each `\\set` line that is understood, in their order."""
    found: dict[str, _Variable] = {}
    constants, scaled = {"scale": 1}, {"scale"}
    for command in script_of(text):
        if command.meta and (variable := _variable(f"\\{command.meta} {command.rest}", constants, scaled)):
            found[variable.name] = variable
            if variable.by_scale:
                scaled.add(variable.name)
    return [*found.values()]


def instead_of_set(text: str) -> str:
    """What to write instead of the `\\set` lines of a text; '' where none is understood."""
    found = variables_of(text)
    if not found:
        return ""
    generators = ", ".join(f"{variable.name} = {variable.generator}" for variable in found)
    lines = ", ".join(f'"{variable.line}"' for variable in found)
    names = ", ".join(f":{variable.name}" for variable in found)
    scaled = any(variable.by_scale for variable in found)
    scale = "; :scale, pgbench's scale factor, counts as 1 here: multiply for a larger one" if scaled else ""
    return f"for {lines} write parameters = {{ {generators} }}, and keep {names} in the SQL{scale}"


def _variable(line: str, constants: dict[str, int], scaled: Set[str]) -> _Variable | None:
    """constants: values of variables that are not drawn; a new one is added. scaled: those of :scale."""
    found = _SET.match(line)
    if found is None or len(found[2]) > _EXPRESSION_CHARACTERS_MAX:
        return None
    name = found[1]
    try:
        tree = parse(found[2], Place("", 0))
        match tree:
            case ["random", low, high]:
                ends = f"low = {_value(low, constants)}, high = {_value(high, constants)}"
                generator = f'{{ kind = "uniform", {ends} }}'
            case ["random-zipfian", low, high, int() | float() as exponent]:
                ends = f"low = {_value(low, constants)}, high = {_value(high, constants)}"
                generator = f'{{ kind = "zipf", {ends}, exponent = {exponent:g} }}'
            case _:
                constants[name] = value = _value(tree, constants)
                generator = f'{{ kind = "choice", values = [{value}] }}'
    except (InputError, ValueError, KeyError, ZeroDivisionError):
        return None
    return _Variable(name, generator, line, not scaled.isdisjoint(variables_in(tree)))


def _value(tree: Tree, constants: Mapping[str, int]) -> int:
    """Of an expression of whole numbers, constants, + - * / and parentheses."""
    match tree:
        case bool():
            raise ValueError("not a whole number")
        case int():
            value = tree
        case str():
            value = constants[tree]
        case [operator, *parts] if operator in _OPERATORS:
            value = _OPERATORS[operator](*(_value(part, constants) for part in parts))
        case _:
            raise ValueError("not a whole number")
    if abs(value) > _INTEGER_MAX:
        raise ValueError("out of range")
    return value
