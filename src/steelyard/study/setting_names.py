"""Which settings of a program a study may give, by the lists in catalog/settings.

A name of the class where, who, runs, acts or out is none of an option's. `plain`: a text without a path.
`utf8`: that encoding alone. `folder`: the server may write there, and the plan lists it. Other names are the
option's if their value is a number, a size, a time or a boolean; a text needs the class `option`, because it
could be a path, an address or a command.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources

from steelyard.study.key_types import Setting, Settings

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

    classes: Mapping[str, str]
    instead: Mapping[str, str]
    removed: Mapping[str, str]
    notes: Mapping[str, str]
    file: Mapping[str, str]

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
