"""A statement that did other work under one option than under another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

How = Literal["rows", "writes", "value", "error", "ran out"]


@dataclass(frozen=True)
class Difference:
    """One statement that did other work under an option than under the baseline.

    how: `writes` is of a transaction, by the rows that its server counts. rows, baseline_rows: per execution;
    of `ran out` executions until the last row. seen: where, as a clause.
    meant: the study says that its rows may differ.
    """

    statement: str
    option: str
    baseline: str
    how: How
    rows: float
    baseline_rows: float
    seen: str
    meant: bool = False
