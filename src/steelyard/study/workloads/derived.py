"""What workloads derived from a specification share: an exact mix, and retries until the deadline."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from steelyard.study.workloads.transactions import TransactionsWorkload


class DerivedWorkload(TransactionsWorkload):
    """Tables and transactions of a specification."""

    mix: Literal["weights", "deck"] = Field(
        default="deck",
        description="deck: each client takes transactions from a shuffled deck with as many cards of each as"
        " the specification's weight, so the mix is exact; weights: drawn at random",
    )
    retries: int = Field(
        default=10_000,
        ge=0,
        le=1_000_000,
        description="how often a transaction is executed again, with the same values, after a serialization"
        " failure or a deadlock; latency counts from the first time. By default until deadline_ms",
    )

    def load_keys(self) -> dict[str, Any]:
        """One text per statement; handle, mix, retries, arrival, limits."""
        return {**super().load_keys(), "text": "identical", "distinct_texts": 1}
