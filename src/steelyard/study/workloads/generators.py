"""Generators of parameter values, by kind; the load engine draws the values."""

from typing import Annotated, Literal

from pydantic import Field

from steelyard.study.key_types import Setting, Strict

_Integer = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]


class _Range(Strict):
    low: _Integer
    high: _Integer


class Uniform(_Range):
    """Whole numbers from low to high, uniformly distributed."""

    kind: Literal["uniform"]


class Zipf(_Range):
    """Whole numbers from low to high; low is the most frequent, rank k has weight k^-exponent."""

    kind: Literal["zipf"]
    exponent: float = Field(ge=0, le=20)


class Nurand(_Range):
    """Whole numbers from low to high, some much more often: ((random(0, a) | random(low, high)) + constant)
    mod (high - low + 1) + low, as in TPC-C 2.1.6.

    constant: its C, in the study so that the bundle has it.
    """

    kind: Literal["nurand"]
    a: int = Field(ge=0, le=2**63 - 1)
    constant: int = Field(ge=0, le=2**63 - 1)


class Sequence(Strict):
    """start, start + step, ...: one sequence for all clients, without duplicates."""

    kind: Literal["sequence"]
    start: _Integer = 1
    step: _Integer = 1
    to: _Integer | None = None
    """last number; needed at an address, with start"""


class Unique(Strict):
    """start, start + 1, ...: whole numbers never used before in the run."""

    kind: Literal["unique"]
    start: _Integer = 1
    """needed at an address: the first number that no row has"""


class Text(Strict):
    """Random lower-case letters."""

    kind: Literal["text"]
    length: int = Field(ge=0, le=1 << 20)


class Choice(Strict):
    """One of these values; one that stands there twice comes twice as often."""

    kind: Literal["choice"]
    values: list[Setting] = Field(min_length=1)


Generator = Annotated[
    Uniform | Zipf | Nurand | Sequence | Unique | Text | Choice, Field(discriminator="kind")
]
