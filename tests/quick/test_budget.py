"""The size of each package, kept by docs/ledger.md, and the rooms that know of a feature, kept by reach.toml.

A number may fall freely. It rises with a line in the ledger alone.
"""

from __future__ import annotations

import ast
import re
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "steelyard"
MODULES = sorted(SOURCE.rglob("*.py"))
# SQL, TOML, CSV, templates, scripts
OTHERS = [
    path for path in SOURCE.rglob("*") if path.is_file() and path.suffix not in {".py", ".so", ".jar", ".pyc"}
]
LEDGER = (ROOT / "docs" / "ledger.md").read_text()
REACH: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "reach.toml").read_text())
# the words of a feature
NOUNS = {
    "turns": "turn deal round drained head_ms",
    "driver": "driver",
    "dsn": "dsn",
    "fleet": "fleet",
    "guest": "guest",
    "recording": "recording",
    "replay": "replay",
    "jdbc": "jdbc",
}
_LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
}  # fmt: skip
# from Python 3.12 on the parts of an f-string are tokens: here it is one, as before
_F_STRING = {getattr(tokenize, "FSTRING_START", None): 1, getattr(tokenize, "FSTRING_END", None): -1}


class Size(NamedTuple):
    """tokens: of Python, without comments, line ends and indents. lone: modules with one importer."""

    tokens: int
    data_bytes: int
    files: int
    public_names: int
    lone: int


def package_of(path: Path) -> str:
    first, *rest = path.relative_to(SOURCE).parts
    return first if rest else "steelyard"


@cache
def tokens(path: Path) -> list[tuple[int, int, str]]:
    """Kind, line and text of each token; f-strings are whole."""
    lines = path.read_text().splitlines(keepends=True)
    found: list[tuple[int, int, str]] = []
    depth, start = 0, (0, 0)
    for token in tokenize.generate_tokens(iter(lines).__next__):
        begins = depth == 0
        depth += _F_STRING.get(token.type, 0)
        if begins and depth:
            start = token.start
        elif not begins and not depth:
            text = "".join(lines[start[0] - 1 : token.end[0]])
            found.append((tokenize.STRING, start[0], text))
        elif not depth and token.type not in _LAYOUT:
            found.append((token.type, token.start[0], token.string))
    return found


def public_names(path: Path) -> int:
    """Functions, classes and constants of a module that others may import."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    return sum(not name.startswith("_") for name in names)


def importers() -> Counter[Path]:
    """By module, how many others import it."""
    by_name = {".".join(("steelyard", *p.relative_to(SOURCE).with_suffix("").parts)): p for p in MODULES}
    found: Counter[Path] = Counter()
    for path in MODULES:
        used: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                used |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names}
        found.update(by_name[name] for name in used & by_name.keys())
    return found


def sizes() -> dict[str, Size]:
    found: dict[str, Size] = {}
    users = importers()
    for package in sorted({package_of(path) for path in MODULES}):
        own = [path for path in MODULES if package_of(path) == package]
        data = [path for path in OTHERS if package_of(path) == package]
        found[package] = Size(
            sum(len(tokens(path)) for path in own),
            sum(path.stat().st_size for path in data),
            len(own) + len(data),
            sum(map(public_names, own)),
            sum(users[path] == 1 for path in own if path.name != "__init__.py"),
        )
    return found


def rows(heading: str) -> Iterator[list[str]]:
    """Cells of the table below a heading of the ledger."""
    part = LEDGER.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    for line in part.splitlines():
        if line.startswith("|") and not set(line) <= set("|- :"):
            yield [cell.strip().strip("`") for cell in line.strip("|").split("|")]


def ceilings() -> dict[str, Size]:
    """The counted sizes, and what the ledger's lines have added since."""
    _, *counted = rows("Counted")
    found = {name: Size(*(int(cell.replace(",", "")) for cell in cells)) for name, *cells in counted}
    _, *rises = rows("Rises")
    for _, package, *cells, feature, cost, removed in rises:
        said = all(re.search(r"\w{3}", text) for text in (feature, removed)) and re.search(r"\d", cost)
        assert said, f"a rise of {package} needs its feature, its tokens with tests, and what was removed"
        more = (int(cell.replace(",", "") or 0) for cell in cells)
        found[package] = Size(*map(sum, zip(found.get(package, Size(0, 0, 0, 0, 0)), more, strict=True)))
    return found


def test_no_package_is_larger_than_the_ledger_says_nor_all_of_them_than_the_ceiling() -> None:
    found, most = sizes(), ceilings()
    assert most.keys() == found.keys()
    larger = [
        f"{package}: {field} {size:,}, and the ledger has {allowed:,}"
        for package, counts in found.items()
        for field, size, allowed in zip(Size._fields, counts, most.get(package, (0,) * 5), strict=True)
        if size > allowed
    ]
    assert not larger, "delete, or add a line to docs/ledger.md"
    _, (work, ceiling), *_ = rows("Ceilings")
    total = sum(size.tokens for size in found.values())
    assert total <= int(ceiling.replace(",", "")), f"{total:,} tokens of Python: too many for {work}"


@cache
def words(path: Path) -> set[str]:
    """The words of a module's names and texts; comments and docstrings are none of them."""
    prose = {
        node.body[0].lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and ast.get_docstring(node) is not None
    }
    found: set[str] = set()
    for (kind, line, text), (_, _, following) in pairwise([*tokens(path), (0, 0, "")]):
        # round() rounds a number
        if (
            kind in (tokenize.NAME, tokenize.STRING)
            and line not in prose
            and (text, following) != ("round", "(")
        ):
            found |= {text.lower(), *(word.lower() for word in re.findall(r"[A-Z]?[a-z]+", text))}
    return found


def rooms_of(noun: str) -> list[str]:
    """Rooms in which one of the words of a feature occurs, in the singular or the plural.

    A package of the feature's name is one room.
    """
    terms = {term + end for term in NOUNS[noun].split() for end in ("", "s")}
    whole = {term for term in terms if "_" in term}
    found: set[str] = set()
    for path in MODULES:
        if (own := words(path)) & terms or any(term in text for term in whole for text in own):
            package, *room = path.relative_to(SOURCE).with_suffix("").parts[:2]
            found.add(package if package in (noun, noun + "s") else "/".join((package, *room)))
    return sorted(found)


def test_a_feature_stays_in_its_rooms() -> None:
    assert REACH.keys() == NOUNS.keys()
    found = {noun: set(rooms_of(noun)) for noun in NOUNS}
    new = {noun: sorted(rooms - set(REACH[noun])) for noun, rooms in found.items()}
    gone = {noun: sorted(set(REACH[noun]) - rooms) for noun, rooms in found.items()}
    assert not any(new.values()), f"a feature in a new room costs every later one: {new}"
    assert not any(gone.values()), f"take these out of reach.toml: {gone}"
