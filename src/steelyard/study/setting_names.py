"""Which settings of a program a study may give, by the lists in catalog/settings.

A name of the class where, who, runs, acts or out is none of an option's. `plain`: a text without a path.
`utf8`: that encoding alone. `folder`: the server may write there, and the plan lists it. Other names are the
option's if their value is a number, a size, a time or a boolean; a text needs the class `option`, because it
could be a path, an address or a command.
"""

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources

from steelyard.study.key_types import Setting, Settings

_Named = Mapping[str, str]
_ANSWER_S = 30.0
_OPTION = re.compile(r"^ +(?:-., )?--([a-z][\w-]*)", re.MULTILINE)
_IGNORED = re.compile(r"\[Warning\] '([\w-]+)' (?:was removed|is MySQL .* compatible option)")
# a switch of either sense; `loose-` lets the server ignore a name that it does not have
_PREFIXES = {"skip": ("off", "on"), "disable": ("off", "on"), "enable": ("on", "off"), "loose": ("", "")}


def resolved(name: str, value: str, options: Collection[str]) -> tuple[str, str]:
    """The option that a line of a file means, and its value; ('', ''): the server may ignore the line.

    options: folded names of the server's; none: it is not known.
    """
    name = folded(name)
    prefix, _, rest = name.partition("_")
    near = [name] if name in options else [option for option in options if option.startswith(name)]
    if len(near) == 1:
        return near[0], value
    if not (rest and prefix in _PREFIXES and (options or prefix == "loose")):
        return name, value
    on, off = _PREFIXES[prefix]
    found, given = resolved(rest, (off if value == "0" else on) or value, options)
    if not options or found in options:
        return found, given
    return ("", "") if prefix == "loose" else (name, value)


@cache
def options_of(program: str, bindir: str | None) -> frozenset[str]:
    """Folded names of a server's options; none where it is not found. bindir: default: the PATH."""
    return frozenset(map(folded, _OPTION.findall(said(program, bindir, "--verbose", "--help"))))


def ignored(names: Iterable[str], options: Collection[str], program: str, bindir: str | None) -> set[str]:
    """Names that the server takes and ignores: '', those of other versions, and MySQL's."""
    strange = {name for name in map(folded, names) if not any(option.startswith(name) for option in options)}
    if not (options and strange):
        return {""}
    words = said(program, bindir, *(f"--loose-{name}=1" for name in sorted(strange)), "--verbose", "--help")
    return {"", *map(folded, _IGNORED.findall(words))}


@cache
def said(program: str, bindir: str | None, *arguments: str) -> str:
    """What a program says; '' where it is not found."""
    # Debian has servers in sbin, other programs in bin
    path = f"{bindir}:{bindir}/../sbin" if bindir else f"{os.environ.get('PATH')}:/usr/sbin"
    if (server := shutil.which(program, path=path)) is None:
        return ""
    done = subprocess.run(
        [server, "--no-defaults", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=_ANSWER_S,
    )  # fmt: skip
    return done.stdout


_REASONS = {
    "where": "Steelyard decides where its server keeps files and listens",
    "who": "Steelyard decides who may connect to its server",
    "runs": "it names commands or code that would run",
    "acts": "it is an action or a question, and no setting",
    "out": "Steelyard sets this itself, or it concerns replicas, recovery and other servers",
}
_UNKNOWN = "only a number, a size or a switch is taken: a text could be a path, an address or a command"
# a number, a size, a time or a switch; of switches unique prefixes too, as PostgreSQL takes them
_PLAIN = re.compile(
    r"[-+]?(?:0x[0-9a-f]+|[\d.]+(?:e[-+]?\d+)?)\s*[a-z%]{0,3}|on|off|true|false|yes|no|default|[tfyn]",
    re.IGNORECASE,
)
_UTF8 = re.compile(r"utf-?8(mb[34])?|unicode|sql_ascii", re.IGNORECASE)
_NAME = re.compile(r"[\w.-]+")
# a further line of a file, or a further argument
_ANOTHER = re.compile(r"[\r\n\0]|^--")


@dataclass(frozen=True)
class SettingNames:
    """classes: by folded name; instead: what to use in place of a name. removed: what replaced a name that
    servers no longer have, or that those of another maker have. notes: on names that act otherwise here.

    file: of a program with settings files the `groups` that count, '' where it has none, and its `program`.
    """

    classes: _Named
    instead: _Named
    removed: _Named
    notes: _Named
    file: _Named

    def reason(self, name: str, value: Setting, known: Callable[[str], bool] = lambda _: False) -> str:
        """Why the lab does not let an option set this; '' where it does.

        known: whether a folded name that is not listed is of the class `option`.
        """
        kind = self.classes.get(folded(name), "")
        text = str(value).strip()
        if not _NAME.fullmatch(name.strip()):
            return "this is no name of a setting"
        if _ANOTHER.search(text):
            return "the value would begin another setting"
        if kind == "utf8" and not _UTF8.fullmatch(text):
            return "the load engine sends UTF-8, whose bytes mean other characters there"
        if kind == "plain" and "/" in text.replace("$libdir/", ""):
            return "it names a file of this machine: give the name without a path"
        if kind or known(folded(name)) or is_plain(text):
            return _REASONS.get(kind, "")
        close = get_close_matches(
            folded(name), (one for one, of in self.classes.items() if of == "option"), n=1
        )
        return _UNKNOWN + (f'; did you mean "{close[0]}"?' if close else "")

    def folders(self, settings: Settings) -> list[str]:
        """The folders that these settings let the server write."""
        return [str(value) for name, value in settings.items() if self.classes.get(folded(name)) == "folder"]

    def hint(self, name: str, default: str = "leave it out") -> str:
        """What to use in place of a name that is the lab's."""
        return self.instead.get(folded(name), default)


def folded(name: str) -> str:
    """A name as servers compare it: `Data-Directory` is data_directory."""
    return name.strip().lower().replace("-", "_")


def is_plain(value: Setting) -> bool:
    """Whether a value is a number, a size, a time or a switch."""
    return _PLAIN.fullmatch(str(value).strip()) is not None


@cache
def names_of(program: str) -> SettingNames:
    """The lists of a program: postgres, mariadb, valkey, pgbouncer, sqlite, jdbc; others have none."""
    folder = resources.files("steelyard.catalog") / "settings"
    file = next((file for file in folder.iterdir() if file.name == f"{program}.toml"), None)
    lists = tomllib.loads(file.read_text()) if file else {}
    tables = [lists.pop(key, {}) for key in ("instead", "removed", "notes", "file")]
    classes = {name: kind for kind, names in lists.items() for name in str(names).split()}
    return SettingNames(classes, *tables)
