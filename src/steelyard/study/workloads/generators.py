"""Generators of parameter values, by kind, as the load engine draws them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from steelyard.study.settings import Setting, Strict

_Integer = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
# beyond it a float does not tell neighbours apart
_MOST_RANKS = 2**53


class _Range(Strict):
    low: _Integer
    high: _Integer

    @model_validator(mode="after")
    def _in_order(self) -> _Range:
        if self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}")
        return self


class Uniform(_Range):
    """Whole numbers from low to high, each as likely."""

    kind: Literal["uniform"]


class Zipf(_Range):
    """Whole numbers from low to high; low is the most frequent, rank k has weight k^-exponent."""

    kind: Literal["zipf"]
    exponent: float = Field(ge=0, le=20)

    @model_validator(mode="after")
    def _ranks_can_be_told_apart(self) -> Zipf:
        if self.high - self.low >= _MOST_RANKS:
            raise ValueError(f"{self.low} to {self.high} holds more values than can be told apart")
        return self


class Sequence(Strict):
    """start, start + step, ...: one sequence for all clients, no value twice."""

    kind: Literal["sequence"]
    start: _Integer = 1
    step: _Integer = 1


class Unique(Strict):
    """Whole numbers never used before in the run."""

    kind: Literal["unique"]


class Text(Strict):
    """Random small letters."""

    kind: Literal["text"]
    length: int = Field(ge=0, le=1 << 20)


class Choice(Strict):
    """One of these, each as likely."""

    kind: Literal["choice"]
    values: list[Setting] = Field(min_length=1)

    @model_validator(mode="after")
    def _no_zero_bytes(self) -> Choice:
        if any(isinstance(value, str) and "\0" in value for value in self.values):
            raise ValueError("a zero byte ends every text of the protocol: it cannot be sent")
        return self


Generator = Annotated[Uniform | Zipf | Sequence | Unique | Text | Choice, Field(discriminator="kind")]
