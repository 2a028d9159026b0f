"""Files that a study names beside itself: SQL in files of its own, data, a data directory.

Paths count from the folder of the study file. A bundle keeps copies, so it is complete without them.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import reduce
from importlib import resources
from pathlib import Path
from typing import Any, Self, cast

from steelyard.errors import InputError
from steelyard.study.key_types import KeyPath, Toml
from steelyard.study.setting_names import names_of
from steelyard.study.settings_file import FileSettings, settings_of
from steelyard.study.source import text_of
from steelyard.study.workloads.of_files import BUILTINS, PgbenchWorkload

# the key of a file: the key of the text that it holds
_TEXTS = {"schema_file": "schema_sql", "sql_file": "sql"}
_COPIED = ("data_file", "capture")
_PLACES = (*_COPIED, "data_directory")
_TEXT_BYTES_MAX = 16 << 20
BUILT_IN = Path(str(resources.files("steelyard.catalog")))
"""folder of the built-in studies"""


@dataclass(frozen=True)
class StudyFiles:
    """Where files are that a study names.

    folder: of the study file; kept: places of the copies that a bundle has, by the name in the study.
    """

    folder: Path
    kept: Mapping[str, Path] = field(default_factory=dict[str, Path])

    @classmethod
    def beside(cls, origin: str) -> Self:
        """Those of the study file at a path, or of the built-in study of that name."""
        return cls(BUILT_IN if (BUILT_IN / f"{origin}.toml").is_file() else Path(origin).parent)

    def place(self, name: str) -> Path:
        """Where the file is that the study calls by this name."""
        return self.kept.get(name) or self.folder / Path(name).expanduser()


def named_files(raw: Toml) -> Iterator[tuple[KeyPath, str]]:
    """Key and name of each file that a study names; raw: the study as TOML."""
    for at, table in _tables(raw):
        for key in (*_TEXTS, *_COPIED):
            if isinstance(name := table.get(key), str) and name:
                yield (*at, key), name
    workload = _table(raw, "workload")
    for name in _scripts(workload):
        yield ("workload", "script"), name
    if workload.get("kind") == "published":
        for name in workload.get("tables", ()):
            yield ("workload", "tables"), name


def with_files(raw: Toml, files: StudyFiles) -> Toml:
    """The study with the texts of its SQL files, and its paths as seen from here. Raises InputError."""
    found = deepcopy(raw)
    for at, table in _tables(found):
        for key in (*_TEXTS, *_PLACES):
            if not isinstance(name := table.get(key), str) or not name:
                continue
            place = files.place(name)
            table[key] = str(place)
            if text := _TEXTS.get(key):
                if text in table:
                    raise InputError(f"{text} is given as well", "give one of the two", (*at, key))
                table[text] = _text(place, (*at, key))
    _put_settings(found, settings_files(found, files))
    workload = _table(found, "workload")
    if scripts := list(_scripts(workload)):
        workload["script_texts"] = {one: _text(files.place(one), ("workload", "script")) for one in scripts}
    return found


def settings_files(raw: Toml, files: StudyFiles) -> dict[str, FileSettings]:
    """The settings of each file that a level names, by its name in the study. Raises InputError."""
    kind, bindir = (_table(raw, "subject").get(key) for key in ("kind", "bindir"))
    names = (_table(levels, code).get("file") for levels in _server_levels(raw) for code in levels)
    return {one: settings_of(files.place(one), str(kind), bindir) for one in names if isinstance(one, str)}


def line_of_setting(raw: Toml, at: Sequence[str | int], files: StudyFiles) -> str:
    """File and line of a setting that a level has from its settings file; '' for others.

    at: its path in the study, raw.
    """
    level = reduce(_table, map(str, at[:4]), raw)
    file, key = level.get("file"), str(at[-1])
    read = settings_files(raw, files) if file and at[0] == "factors" and key not in level else {}
    return read[file].places.get(key, "") if file in read else ""


def _put_settings(raw: Toml, read: Mapping[str, FileSettings]) -> None:
    """Replaces the files that levels name by their settings. Raises InputError if all levels are the same."""
    for levels in _server_levels(raw):
        named = {code: name for code in levels if (name := str(_table(levels, code).get("file"))) in read}
        for code, name in named.items():
            del levels[code]["file"]
            levels[code] = read[name].settings | levels[code]
        settings = list(levels.values())
        if named and len(settings) > 1 and all(other == settings[0] for other in settings):
            left_out = (line for name in named.values() for line in read[name].left_out)
            same = f"{', '.join(named.values())}: the settings of all levels are the same"
            raise InputError("\n".join([same, *left_out]), "lines that begin with # set nothing")


def _server_levels(raw: Toml) -> Iterator[Toml]:
    """The levels of factors that may name files of settings."""
    reads = names_of(str(_table(raw, "subject").get("kind"))).file
    for _, factor in _below(raw, "factors"):
        if reads and factor.get("scope") == "server":
            yield _table(factor, "levels")


def _scripts(workload: Toml) -> Iterator[str]:
    """Names of the files under `script` of pgbench, without weights and built-in scripts."""
    entries: Any = workload.get("script")
    if workload.get("kind") != "pgbench" or not isinstance(entries, list) or "script_texts" in workload:
        return
    for entry in cast("list[Any]", entries):
        name = PgbenchWorkload.weighted(entry)[0] if isinstance(entry, str) else ""
        if name and name not in BUILTINS:
            yield name


def _tables(raw: Toml) -> Iterator[tuple[KeyPath, Toml]]:
    """Tables of a study that may name files."""
    yield ("workload",), _table(raw, "workload")
    yield from _below(raw, "workload", "statements")
    yield from _below(raw, "monitors")
    for at, factor in _below(raw, "factors"):
        if factor.get("scope") == "schema":
            yield from _below(raw, *at, "levels")


def _below(raw: Toml, *path: str) -> Iterator[tuple[KeyPath, Toml]]:
    """Path and content of each table in the table at a path."""
    table = reduce(_table, path, raw)
    for name in table:
        yield (*path, name), _table(table, name)


def _table(raw: Toml, key: str) -> Toml:
    """The table under a key; an empty one where the study has something else there."""
    found: Any = raw.get(key)
    return cast("Toml", found) if isinstance(found, dict) else {}


def _text(place: Path, at: KeyPath) -> str:
    try:
        return text_of(place, _TEXT_BYTES_MAX)
    except FileNotFoundError:
        raise InputError(f"{place}: no such file", "paths count from the study file's folder", at) from None
    except InputError as error:
        raise InputError(str(error), error.hint, at) from None
