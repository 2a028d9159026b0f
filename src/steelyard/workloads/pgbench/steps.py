"""A script as the steps of a transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from steelyard import _core
from steelyard.sql_text import script_of
from steelyard.study.expressions import Place, Tree, parse, variables_of
from steelyard.study.key_types import Settings
from steelyard.study.workloads.statements import Statement
from steelyard.workloads import BEGIN, COMMIT, Step, Steps

_BEGIN = re.compile(r"begin(\s+(work|transaction))?", re.IGNORECASE)
_COMMIT = re.compile(r"(commit|end)(\s+(work|transaction))?", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d]\w*")
_VARIABLE = re.compile(r"(?<!:):([^\W\d]\w*)")
_SLEEP = re.compile(r"(:\w+|\d+)\s*(us|ms|s)?", re.IGNORECASE)
_PER_MS: Mapping[str, Tree] = {"us": 0.001, "ms": 1, "s": 1000}
_GSET_ROWS = "rows of gset"
# the constant whose value is the number of the client
CLIENT_ID = "client_id"
# what the engine does not have, and the way around
_UNSUPPORTED = {
    "aset": "end each command with a semicolon and its own \\gset",
    "shell": "do it before the study, in workload.schema_sql or a script of your own",
    "setrandom": "\\set {} random({}, {})",
    "setshell": "give the value in [workload.variables]",
    **dict.fromkeys(
        ("startpipeline", "syncpipeline", "endpipeline"),
        "remove it: each client has one command under way, and waits for its reply",
    ),
}


@dataclass
class _Block:
    """Steps of a branch. of: the `if` whose branches are being collected; None: the whole script."""

    steps: Steps
    of: Step | None = None
    place: Place | None = None
    has_else: bool = False


@dataclass
class Compiled:
    """A script in parts. statements: by name; places: FILE:LINE of each; steps: as in the engine's plan."""

    statements: dict[str, Statement] = field(default_factory=dict[str, Statement])
    steps: Steps = field(default_factory=Steps)
    places: dict[str, str] = field(default_factory=dict[str, str])


def compiled(text: str, file: str, prefix: str, constants: Settings) -> Compiled:
    """The script in steps. prefix: of the names of its statements. constants: variables with their values.

    Raises InputError with file and line for what is not supported.
    """
    commands = list(commands_of(text, file))
    script = _Script(prefix, constants, commands)
    for command in commands:
        if isinstance(command, Sql):
            script.sql(command)
        else:
            script.meta(command)
    return script.end(Place(file, 1))


class _Script:
    def __init__(self, prefix: str, constants: Settings, commands: Sequence[Sql | Meta]) -> None:
        self._prefix, self._constants = prefix, constants
        self._set = {rest.split(None, 1)[0] for rest in _rests(commands, "set") if rest}
        self._gset = _rests(commands, "gset")
        self._named = {name for one in commands for name in _names(one)}
        self._used = set[str]()
        self._blocks = [_Block([])]
        self._found = Compiled()
        self._last: Step | None = None

    def sql(self, command: Sql) -> None:
        self._last = None
        if _BEGIN.fullmatch(command.bare):
            self._add(BEGIN)
            return
        if _COMMIT.fullmatch(command.bare):
            self._add(COMMIT)
            return
        text = _VARIABLE.sub(self._constant_text, command.text)
        for quoted in command.quoted:
            for name in _VARIABLE.findall(quoted):
                if name in self._set | self._named | self._constants.keys():
                    raise command.place.error(
                        f":{name} in quotes is not replaced", f"move it out of the quotes: '...' || :{name}"
                    )
        for name in _core.statement_parameters(text, "postgresql"):
            self._use(name, command.place)
        verb = re.match(r"[A-Za-z]+", command.bare)
        statement = (
            f"{self._prefix}{verb[0].lower() if verb else 'statement'}{len(self._found.statements) + 1}"
        )
        self._found.statements[statement] = Statement(sql=text)
        self._found.places[statement] = f"{command.place.file}:{command.place.line}"
        self._last = {"do": "statement", "name": statement}
        self._add(self._last)

    def meta(self, command: Meta) -> None:
        name, rest, place = command.name, command.rest, command.place
        if name in _UNSUPPORTED:
            hint = _UNSUPPORTED[name].format(*rest.split(), "NAME", "MIN", "MAX")
            raise place.error(f"\\{name} is not supported", hint)
        match name:
            case "set":
                variable, _, expression = " ".join(rest.split()).partition(" ")
                if not _NAME.fullmatch(variable) or not expression:
                    raise place.error(
                        f"\\set {rest}: needs a name and an expression", "\\set id random(1, 1000)"
                    )
                self._add({"do": "set", "value": variable, "to": self._tree(expression, place)})
            case "gset":
                self._take(rest, place)
            case "sleep":
                self._add({"do": "wait", "ms": self._pause(rest, place)})
            case "if":
                step: Step = {"do": "if", "condition": self._tree(rest, place), "then": [], "else": []}
                self._add(step)
                self._blocks.append(_Block(step["then"], step, place))
            case "elif":
                block, above = self._branch("elif", place)
                step = {"do": "if", "condition": self._tree(rest, place), "then": [], "else": []}
                above["else"].append(step)
                block.of, block.steps = step, step["then"]
            case "else":
                block, above = self._branch("else", place)
                block.steps, block.has_else = above["else"], True
            case "endif":
                self._branch("endif", place)
                self._blocks.pop()
            case _:
                raise place.error(f"\\{name} is no meta-command of pgbench")
        self._last = None

    def end(self, place: Place) -> Compiled:
        if begun := self._blocks[-1].place:
            raise begun.error("\\if without \\endif")
        if not self._found.statements:
            raise place.error("the script has no SQL command")
        first: Steps = []
        for name in sorted(self._used & self._constants.keys()):
            value = self._constants[name]
            if isinstance(value, str):
                raise place.error(f":{name} is a text, which no expression takes", "use it in SQL alone")
            first.append({"do": "set", "value": name, "to": ["client"] if name == CLIENT_ID else value})
        self._found.steps = [*first, *self._blocks[0].steps]
        return self._found

    def _add(self, step: Step) -> None:
        self._blocks[-1].steps.append(step)

    def _use(self, name: str, place: Place) -> None:
        # a column may give the variable its value, by a prefix of `\gset`
        columns = any(name.startswith(prefix) and name != prefix for prefix in self._gset)
        if not (columns or name in self._set or name in self._constants):
            raise place.error(
                f":{name} has no value",
                f"\\set {name} EXPRESSION before it, {name} = VALUE under [workload.variables];"
                f" in SQL that needs a colon, put a blank after it",
            )
        self._used.add(name)

    def _tree(self, expression: str, place: Place) -> Tree:
        tree = parse(expression, place)
        for name in variables_of(tree):
            self._use(name, place)
        return tree

    def _constant_text(self, found: re.Match[str]) -> str:
        """A variable that is a text stands for a part of the SQL, as in pgbench."""
        value = self._constants.get(found[1])
        if isinstance(value, str) and found[1] not in self._set:
            return value
        return found[0]

    def _take(self, prefix: str, place: Place) -> None:
        if self._last is None:
            raise place.error("\\gset follows a command of SQL that gives a row")
        if len(prefix.split()) > 1:
            raise place.error(f"\\gset {prefix}: one prefix at most")
        self._last["take"] = {
            name: name[len(prefix) :]
            for name in sorted(self._named)
            if name.startswith(prefix) and name != prefix
        }
        self._last["rows"] = _GSET_ROWS
        message = f"{place.file}:{place.line}: \\gset needs a result of one row"
        failed = [{"do": "fail", "message": message}]
        self._add({"do": "if", "condition": ["ne", _GSET_ROWS, 1], "then": failed})

    def _pause(self, rest: str, place: Place) -> Tree:
        found = _SLEEP.fullmatch(rest.strip())
        if found is None:
            raise place.error(f"\\sleep {rest}: needs a whole number and us, ms or s", "\\sleep 10 ms")
        return ["mul", self._tree(found[1], place), _PER_MS[(found[2] or "s").lower()]]

    def _branch(self, name: str, place: Place) -> tuple[_Block, Step]:
        """The branch that ends there, and its `if`."""
        block = self._blocks[-1]
        if block.of is None:
            raise place.error(f"\\{name} without \\if")
        if block.has_else and name != "endif":
            raise place.error(f"\\{name} after \\else")
        return block, block.of


def _rests(commands: Sequence[Sql | Meta], name: str) -> list[str]:
    """What follows each meta-command of this name."""
    return [one.rest for one in commands if isinstance(one, Meta) and one.name == name]


def _names(command: Sql | Meta) -> list[str]:
    if isinstance(command, Sql):
        return _core.statement_parameters(command.text, "postgresql")
    return _VARIABLE.findall(command.rest) + (["default_seed"] if "(" in command.rest else [])


@dataclass(frozen=True)
class Sql:
    """A command of SQL as written. bare: without comments; quoted: its texts and names in quotes."""

    place: Place
    text: str
    bare: str
    quoted: tuple[str, ...]


@dataclass(frozen=True)
class Meta:
    """A meta-command. name: without its backslash; rest: what follows it."""

    place: Place
    name: str
    rest: str


def commands_of(text: str, file: str) -> Iterator[Sql | Meta]:
    """The commands of a script in their order. Raises InputError for a quote or comment that does not end."""
    for command in script_of(text):
        place = Place(file, 1 + text.count("\n", 0, command.at))
        if command.meta == "" and command.rest.startswith(";"):
            raise place.error("\\; is not supported", "end each command with a semicolon")
        if command.meta is not None:
            yield Meta(place, command.meta, command.rest)
            continue
        for kind, piece in command.tokens:
            if kind == "broken":
                begin = Place(file, 1 + text.count("\n", 0, text.index(piece, command.at)))
                raise begin.error("a quote or a comment that begins here does not end")
        quoted = tuple(piece for kind, piece in command.tokens if kind in ("text", "name"))
        yield Sql(place, command.text, command.bare, quoted)
