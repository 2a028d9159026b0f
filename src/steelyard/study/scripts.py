"""What the \\set lines of a script of psql or pgbench draw, as generators of a study.

https://www.postgresql.org/docs/current/pgbench.html#PGBENCH-METACOMMANDS
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass

from steelyard.sql_text import script_of

_SET = re.compile(r"^[ \t]*\\set[ \t]+(\w+)[ \t]+([^\n]+?)[ \t]*$", re.MULTILINE)
_RANDOM = re.compile(r"(random|random_zipfian)\s*\((.*)\)", re.IGNORECASE)
_NAME = re.compile(r"(?<!:):([A-Za-z_]\w*)")
_EXPRESSION_CHARACTERS_MAX = 200
_INTEGER_MAX = 2**63 - 1
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: int.__add__,
    ast.Sub: int.__sub__,
    ast.Mult: int.__mul__,
    ast.Div: int.__floordiv__,
}


@dataclass(frozen=True)
class Variable:
    """A `\\set` as a generator of the study file. line: as written; by_scale: depends on :scale, 1 here."""

    name: str
    generator: str
    line: str
    by_scale: bool


def variables_of(text: str) -> list[Variable]:
    """Of each `\\set` line that is understood, in their order."""
    found: dict[str, Variable] = {}
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


def _variable(line: str, constants: dict[str, int], scaled: Set[str]) -> Variable | None:
    """constants: values of variables that are not drawn; a new one is added. scaled: those of :scale."""
    found = _SET.match(line)
    if found is None or len(found[2]) > _EXPRESSION_CHARACTERS_MAX:
        return None
    name, expression = found[1], found[2]
    try:
        if drawn := _RANDOM.fullmatch(expression):
            ends = [part.strip() for part in drawn[2].split(",")]
            generator = _drawn(drawn[1].lower(), ends, constants)
        else:
            constants[name] = value = _number(expression, constants)
            generator = f'{{ kind = "choice", values = [{value}] }}'
    except (ValueError, SyntaxError, KeyError, ZeroDivisionError, RecursionError):
        return None
    return Variable(name, generator, line, not scaled.isdisjoint(_NAME.findall(expression)))


def _drawn(function: str, ends: Sequence[str], constants: Mapping[str, int]) -> str:
    low, high = (_number(end, constants) for end in ends[:2])
    if function == "random" and len(ends) == 2:
        return f'{{ kind = "uniform", low = {low}, high = {high} }}'
    if function == "random_zipfian" and len(ends) == 3:
        return f'{{ kind = "zipf", low = {low}, high = {high}, exponent = {float(ends[2]):g} }}'
    raise ValueError(function)


def _number(expression: str, constants: Mapping[str, int]) -> int:
    """The value of an expression of whole numbers, constants, + - * / and parentheses."""
    tree = ast.parse(_NAME.sub(r"\1", expression).strip(), mode="eval")
    value = _value(tree.body, constants)
    if abs(value) > _INTEGER_MAX:
        raise ValueError(expression)
    return value


def _value(node: ast.expr, constants: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return constants[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, constants)
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, constants), _value(right, constants))
        case _:
            raise ValueError("not a whole number")
