"""The stub of the extension and the extension say the same: names, kinds, signatures, defaults."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard import _core

OPEN = "POSITIONAL_OR_KEYWORD"
STUB = Path(_core.__file__).with_name("_core.pyi")
# of its own a class has these alone, whatever else Python gives it
MADE_BY_PYTHON = {"__doc__", "__module__", "__new__", "__weakref__", "__dict__"}


def parameters(arguments: ast.arguments) -> list[tuple[str, str, str | None]]:
    """Name, kind and default of each, as `inspect` names them."""
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(placed) - len(arguments.defaults)) + list(arguments.defaults)
    kinds = ["POSITIONAL_ONLY"] * len(arguments.posonlyargs) + [OPEN] * len(arguments.args)
    found = list(zip(placed, kinds, defaults, strict=True))
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    found += [(one, "KEYWORD_ONLY", value) for one, value in named]
    return [(one.arg, kind, ast.unparse(value) if value else None) for one, kind, value in found]


def signature(function: Any) -> list[tuple[str, str, str | None]]:
    """The same of what the extension holds."""
    return [
        # pyo3 takes `self` by position alone, which a stub need not say
        (one.name, OPEN if one.name == "self" else one.kind.name, default(one))
        for one in inspect.signature(function).parameters.values()
    ]


def default(parameter: inspect.Parameter) -> str | None:
    """As it is written."""
    return None if parameter.default is parameter.empty else repr(parameter.default)


def promised(body: list[ast.stmt]) -> Iterator[tuple[str, Any]]:
    """What a stub's module or class declares: its parameters, or `value`, or a class's own."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            decorated = {ast.unparse(one) for one in node.decorator_list}
            yield node.name, "value" if "property" in decorated else parameters(node.args)
        elif isinstance(node, ast.ClassDef):
            yield node.name, ([ast.unparse(base) for base in node.bases], dict(promised(node.body)))
        elif isinstance(node, ast.AnnAssign):
            yield ast.unparse(node.target), "value"


def held(value: Any) -> Any:
    """The same of one thing in the extension."""
    if not inspect.isclass(value):
        return signature(value) if callable(value) else "value"
    bases = [base.__name__ for base in value.__bases__ if base is not object]
    inner = {key: held(one) for key, one in vars(value).items() if key not in MADE_BY_PYTHON}
    if not issubclass(value, BaseException):
        own = [("self", OPEN, None)]
        inner["__init__"] = own + signature(value)
    return bases, inner


def test_the_stub_declares_what_the_extension_has_and_nothing_else() -> None:
    stub = dict(promised(ast.parse(STUB.read_text()).body))
    extension = {
        name: held(value)
        for name, value in vars(_core).items()
        if name == "__version__" or not name.startswith("__")
    }
    assert stub == extension
