"""Settings files as servers read them: postgresql.conf, those of MariaDB with groups, what they include."""

import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import InputError
from steelyard.study.setting_names import SettingNames, folded, ignored, names_of, options_of, resolved, said
from steelyard.study.source import text_of

_QUOTED = r"'(?:[^'\\]|\\.|'')*'"
_LINE = re.compile(
    rf"\s*(?:(?P<name>[A-Za-z_][\w.]*)(?:\s*=\s*|\s+)(?P<value>{_QUOTED}|[^\s#'=][^\s#']*))?\s*(?:#.*)?"
    r"(?P<group>(?!))?"
)
# of a file with groups; a name without a value is a switch
_GROUPED = re.compile(
    r"\s*(?:;.*|\[(?P<group>[^\]]+)\].*|(?P<name>[A-Za-z_][\w-]*|!include(?:dir)?(?=\s+\S))"
    r"(?:(?:\s*=|(?<=!include)|(?<=!includedir))\s*"
    rf"(?P<value>{_QUOTED}|\"(?:[^\"\\]|\\.)*\"|(?:[^\s#'\"](?:[^#]*[^\s#])?)?))?)?\s*(?:#.*)?"
)

# guc-file.l: of PostgreSQL in quotes alone; my_default.c: `\s` is a space; a path's other backslashes stay
_ESCAPE = re.compile(r"\\([0-7]{1,3}|\D)")
_ESCAPES = dict(zip("bfnrt", "\b\f\n\r\t", strict=True))
_ESCAPES_GROUPED = dict(zip("bnrts\\\"'", "\b\n\r\t \\\"'", strict=True))

_OTHER = "a postgresql.conf is for the subject postgres, a my.cnf for mariadb (run STUDY --subject mariadb)"


@dataclass(frozen=True)
class FileSettings:
    """Value by name; of a name that comes twice the last. places: its file and line, by name.

    left_out: a sentence per line that is the lab's, or acts otherwise than on the user's server. text: a
    file of these settings alone: the other lines may hold passwords.
    """

    settings: dict[str, str]
    places: Mapping[str, str]
    left_out: Sequence[str]
    text: str


@dataclass(frozen=True)
class _Reader:
    """Of one file and those that it includes, which are within its folder.

    read: files so far. left_out: a sentence per group that looks like the server's and is not.
    """

    folder: Path
    names: SettingNames
    bindir: str | None
    read: set[Path]
    left_out: list[str]

    def lines(self, path: Path, by: str = "") -> Iterator[tuple[str, str, str]]:
        """Place, name and value of each setting, in the server's order. by: the line that includes it."""
        if (own := path.resolve()) in self.read:
            raise InputError(f"{by}{path} is included twice", "remove the line")
        self.read.add(own)
        try:
            lines = text_of(path).split("\n")
        except FileNotFoundError:
            raise InputError(f"{by}{path}: no such file") from None
        form = _GROUPED if (groups := self.names.file["groups"]) else _LINE
        if groups and path.stat().st_mode & stat.S_IWOTH:
            self.left_out.append(f"{path}: all may write it, so that MariaDB itself ignores it: chmod o-w")
        counts, began = not groups, not groups
        for number, line in enumerate(lines, start=1):
            place = f"{path}:{number}"
            if (match := form.fullmatch(line)) is None:
                if counts or not began or line.lstrip()[:1] == "[":
                    if not groups and line.lstrip()[0] in "[!;":
                        raise InputError(f"{place}: an option file of MariaDB or MySQL", _OTHER)
                    # without the line, which may hold a password
                    raise InputError(f"{place}: not a setting", "name = value, a text in quotes: '64 MB'")
                continue
            group, name, value = match["group"], match["name"] or "", match.groupdict("on")["value"]
            value = _unescaped(value, bool(groups))
            if group:
                counts, began = self._counts(group.strip()), True
                if not counts and group.strip().lower().startswith(tuple(groups.split())):
                    self.left_out.append(f"{place}: [{group}] is left out: this server does not read it")
            elif re.fullmatch("!?include(_?dir|_if_exists)?", name.lower()):
                for inner in self._included(path.parent / value, name.lower(), place):
                    yield from self.lines(inner, f"{place}: ")
            elif name and not began:
                raise InputError(
                    f"{place}: no group begins before this line", f"write [mysqld] above it; {_OTHER}"
                )
            elif name and counts:
                yield place, name, value

    def _counts(self, group: str) -> bool:
        """Whether the server reads a group, by its name alone or with its own version behind it."""
        known = self.names.file["groups"].split()
        base, _, version = group.rpartition("-")
        return group in known or (
            base in known[-3:]
            and "." in version
            and f" {version}." in said(self.names.file["program"], self.bindir, "--version")
        )

    def _included(self, inner: Path, name: str, place: str) -> Sequence[Path]:
        if not inner.resolve().is_relative_to(self.folder):
            raise InputError(
                f"{place}: {name} names {inner}, outside the folder of the settings file",
                "copy it into that folder, and name it there",
            )
        if not name.endswith("dir"):
            return [inner] if inner.exists() or not name.endswith("exists") else []
        if not inner.is_dir():
            raise InputError(f"{place}: {inner}: no such folder")
        found = inner.glob("[!.]*.cnf" if name[0] == "!" else "[!.]*.conf")
        # servers pass over folders of such a name
        return sorted(file for file in found if not file.is_dir())


def settings_of(path: Path, kind: str, bindir: str | None = None) -> FileSettings:
    """The settings of a file that an option may have. Raises InputError with file and line.

    kind: of the subject. bindir: folder of its programs, whose version decides on groups.
    """
    names = names_of(kind)
    found: dict[str, str] = {}
    places: dict[str, str] = {}
    left_out: list[str] = []
    reader = _Reader(path.parent.resolve(), names, bindir, set(), left_out)
    program = names.file.get("program", "")
    options = options_of(program, bindir) if program else frozenset[str]()
    lines = [(*line, *(resolved(*line[1:], options) if program else line[1:])) for line in reader.lines(path)]
    useless = ignored((name for *_, name, _ in lines), options, program, bindir)
    for place, written, _, name, value in lines:
        if folded(name) in useless:
            left_out.append(f"{place}: {written} is left out: this server ignores it")
        elif reason := names.reason(name, value):
            # without the value, which may hold a password
            instead = names.hint(name, "")
            left_out.append(f"{place}: {written} is left out: {reason}" + (instead and f" ({instead})"))
        else:
            found[folded(name)], places[folded(name)] = value, place
            if note := names.notes.get(folded(name)):
                left_out.append(f"{place}: {written} {note}")
    text = ["[server]"] if program else []
    text += [f"{name} = '" + _escaped(value) + "'" for name, value in found.items()]
    return FileSettings(found, places, left_out, "\n".join([*text, ""]))


def _unescaped(value: str, grouped: bool) -> str:
    """A value of a file without its quotes. grouped: as MariaDB reads it, also without quotes."""
    quoted = value[:1] in ("'", '"')
    inner = value[1:-1] if quoted else value
    if grouped:
        return _ESCAPE.sub(lambda it: _ESCAPES_GROUPED.get(it[1], it[0]), inner)
    return _ESCAPE.sub(_of_postgres, inner.replace("''", "'")) if quoted else inner


def _of_postgres(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 8)) if escape[1].isdigit() else _ESCAPES.get(escape[1], escape[1])


def _escaped(value: str) -> str:
    """The value within quotes, as both servers read it."""
    return value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
