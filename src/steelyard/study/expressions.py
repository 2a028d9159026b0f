"""Expressions as pgbench's `\\set` writes them, as trees of the load engine (plan/steps.rs)."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.errors import InputError

# a number, the name of a variable, or a call: a function's name and its arguments
Tree = int | float | bool | str | list[Any] | None

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|:(?P<variable>\w+)|(?P<word>[A-Za-z_]\w*)|(?P<sign><=|>=|<>|!=|<<|>>|[-+*/%=<>|#&~(),]))"
)
_INTEGER_MAX = 2**63 - 1
_Token = tuple[str, str]  # kind and text
_DEPTH_MAX = 40
# from loosest to tightest
_BINARY = (
    {"=": "eq", "<>": "ne", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"},
    {"|": "bit-or", "#": "bit-xor", "&": "bit-and", "<<": "shift-left", ">>": "shift-right"},
    {"+": "add", "-": "sub"},
    {"*": "mul", "/": "div", "%": "mod"},
)
_COMPARISON = 0
_ADDITION = 2
# name in the engine, arguments; a hash and a permutation take a seed after them
_FUNCTIONS = {
    **{name: (name, 1) for name in ("abs", "double", "exp", "int", "ln", "sqrt")},
    "mod": ("mod", 2),
    "pi": ("pi", 0),
    "pow": ("power", 2),
    "power": ("power", 2),
    "random": ("random", 2),
    "random_exponential": ("random-exponential", 3),
    "random_gaussian": ("random-gaussian", 3),
    "random_zipfian": ("random-zipfian", 3),
}
_SEEDED = {
    "hash": ("hash-murmur2", 1),
    "hash_fnv1a": ("hash-fnv1a", 1),
    "hash_murmur2": ("hash-murmur2", 1),
    "permute": ("permute", 2),
}
_WORDS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class Place:
    """A line of a script."""

    file: str
    line: int

    def error(self, text: str, hint: str = "") -> InputError:
        """What is wrong there, and the way around."""
        return InputError(f"{self.file}:{self.line}: {text}", hint)


def parse(text: str, place: Place, own: Mapping[str, tuple[str, int]] | None = None) -> Tree:
    """The tree of an expression. Raises InputError with the line of the script.

    own: functions beside pgbench's: name in the engine and number of arguments.
    """
    return _Parser(text, place, {**_FUNCTIONS, **(own or {})}).whole()


class _Parser:
    def __init__(self, text: str, place: Place, functions: Mapping[str, tuple[str, int]]) -> None:
        self._place, self._text, self._functions = place, text, functions
        self._tokens = list(self._cut())
        self._at = 0
        self._depth = 0

    def _cut(self) -> list[_Token]:
        tokens: list[_Token] = []
        at, text = 0, self._text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                raise self._wrong(text[at:].strip()[:20])
            kind = found.lastgroup
            tokens.append((kind, found[kind].lower() if kind == "word" else found[kind]))
            at = found.end()
        return tokens

    def whole(self) -> Tree:
        tree = self._or()
        if self._at < len(self._tokens):
            raise self._wrong(self._tokens[self._at][1])
        return tree

    def _wrong(self, token: str) -> Exception:
        what = f'"{token}" is not expected here' if token else "it ends too early"
        return self._place.error(f'the expression "{self._text}": {what}')

    def _next(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _take(self, *signs: str) -> str:
        """The next sign or word, if it is one of these; else ''."""
        kind, token = self._next()
        if kind in ("sign", "word") and token in signs:
            self._at += 1
            return token
        return ""

    def _need(self, *signs: str) -> str:
        if not (token := self._take(*signs)):
            raise self._wrong(self._next()[1])
        return token

    def _or(self) -> Tree:
        return self._chain("or", lambda: self._chain("and", self._not))

    def _chain(self, word: str, part: Callable[[], Tree]) -> Tree:
        parts = [part()]
        while self._take(word):
            parts.append(part())
        return [word, *parts] if len(parts) > 1 else parts[0]

    def _not(self) -> Tree:
        return ["not", self._nested(self._not)] if self._take("not") else self._is()

    def _nested(self, part: Callable[[], Tree]) -> Tree:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise self._place.error(f'the expression "{self._text[:60]}" is nested too deeply')
        tree = part()
        self._depth -= 1
        return tree

    def _is(self) -> Tree:
        tree = self._binary(_COMPARISON)
        if self._take("isnull"):
            return ["is-null", tree]
        if self._take("notnull"):
            return ["not", ["is-null", tree]]
        if self._take("is"):
            negated = self._take("not")
            tree = ["is-" + self._need("null", "true", "false"), tree]
            return ["not", tree] if negated else tree
        return tree

    def _binary(self, level: int) -> Tree:
        if level == len(_BINARY):
            return self._unary()
        operators = _BINARY[level]
        tree = self._binary(level + 1)
        while sign := self._take(*operators):
            tree = [operators[sign], tree, self._binary(level + 1)]
            if level == _COMPARISON:
                break
        return tree

    def _unary(self) -> Tree:
        if self._take("-"):
            kind, token = self._next()
            if kind == "number" and token.isdecimal() and int(token) == _INTEGER_MAX + 1:
                self._at += 1
                return -_INTEGER_MAX - 1
            return ["neg", self._nested(self._unary)]
        if self._take("+"):
            return self._nested(self._unary)
        if self._take("~"):
            return ["bit-not", self._nested(lambda: self._binary(_ADDITION))]
        return self._primary()

    def _primary(self) -> Tree:
        if self._take("("):
            tree = self._nested(self._or)
            self._need(")")
            return tree
        if self._take("case"):
            return self._nested(self._case)
        kind, token = self._next()
        self._at += 1
        if kind == "number":
            return self._number(token)
        if kind == "variable":
            return token
        if kind == "word" and token in _WORDS:
            return _WORDS[token]
        if kind == "word" and self._take("("):
            return self._nested(lambda: self._call(token))
        raise self._wrong(token)

    def _number(self, token: str) -> Tree:
        if not token.isdecimal():
            return float(token)
        if len(token) > 19 or int(token) > _INTEGER_MAX:
            raise self._place.error(f"{token} is beyond whole numbers", "write it as a double: 1e20")
        return int(token)

    def _case(self) -> Tree:
        tree: list[Any] = ["case"]
        while self._take("when"):
            tree.append(self._or())
            self._need("then")
            tree.append(self._or())
        if len(tree) == 1:
            self._need("when")
        if self._take("else"):
            tree.append(self._or())
        self._need("end")
        return tree

    def _call(self, name: str) -> Tree:
        arguments: list[Tree] = []
        while not self._take(")"):
            if arguments:
                self._need(",")
            arguments.append(self._or())
        if name in ("least", "greatest") and arguments:
            tree = arguments[0]
            for argument in arguments[1:]:
                tree = [name, tree, argument]
            return tree
        if name in _SEEDED:
            function, needed = _SEEDED[name]
            if len(arguments) == needed:
                arguments.append("default_seed")
            needed += 1
        elif name in self._functions:
            function, needed = self._functions[name]
        else:
            known = sorted({*_FUNCTIONS, *_SEEDED, "least", "greatest"})
            hint = (
                "remove it: there is nothing to write to" if name == "debug" else f"known: {', '.join(known)}"
            )
            raise self._place.error(f"the function {name}() is not supported", hint)
        if len(arguments) != needed:
            raise self._place.error(f"the function {name}() has {len(arguments)} arguments, not {needed}")
        return [function, *arguments]


def variables_of(tree: Tree) -> list[str]:
    """Names of the variables in a tree."""
    if isinstance(tree, list):
        return [name for part in tree[1:] for name in variables_of(part)]
    return [tree] if isinstance(tree, str) else []
