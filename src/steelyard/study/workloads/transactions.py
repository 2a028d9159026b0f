"""What workloads of SQL transactions share: how their statements are sent, how transactions follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from steelyard.study.workloads.arrival import ClientWorkload
from steelyard.study.workloads.workload import KeyPath


class TransactionsWorkload(ClientWorkload):
    """Transactions of SQL over connections."""

    CLIENT_SETTINGS: ClassVar[Mapping[str, KeyPath]] = {
        **ClientWorkload.CLIENT_SETTINGS,
        **{key: (key,) for key in ("handle", "mix", "retries")},
    }

    handle: Literal["none", "unnamed", "named", "per-use", "left"] = Field(
        default="named",
        description="none: simple query; unnamed: parsed each time without a name; named: prepared "
        "once; per-use: prepared, executed, closed; left: prepared and never closed",
    )
    mix: Literal["weights", "deck"] = Field(
        default="weights",
        description="weights: each transaction is drawn at random; deck: each client takes them from a"
        " shuffled deck with as many cards of each as its weight, so the mix is exact",
    )
    retries: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="how often a transaction is executed again, with the same values, after a serialization"
        " failure or a deadlock; latency counts from the first time",
    )

    @property
    def sends_parameters(self) -> bool:
        """Whether values are bound (True) or literals in the text."""
        return self.handle != "none"

    def load_keys(self) -> dict[str, Any]:
        """Handle, parameters, mix, retries; arrival, limits."""
        return {
            **super().load_keys(),
            **self.model_dump(include={"handle", "mix", "retries"}),
            "parameters": "client" if self.sends_parameters else "none",
        }
