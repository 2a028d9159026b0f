"""The workload of a brokerage, derived from the TPC-E specification."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from steelyard.study.workloads.transactions import DerivedWorkload

NOT_TPC_E = (
    "Derived from the TPC-E specification; not a TPC benchmark; results are not comparable with published TPC"
    " results"
)


class BrokerageWorkload(DerivedWorkload):
    """Customers' orders to trade securities, and the market that executes them. Derived from the TPC-E
    specification; not a TPC benchmark; results are not comparable with published TPC results.
    """

    CLIENT = f"{DerivedWorkload.CLIENT} result_clients feed_clients"
    SMALLEST: ClassVar[Mapping[str, float]] = {"customers": 1_000, "days": 1}

    kind: Literal["brokerage"]
    customers: int = Field(default=1_000, ge=1_000, le=1_000_000, multiple_of=1_000)
    """scale: 1,100,000 rows and about 160 MB per 1,000 without trades; the specification has 5,000 at least
    """
    days: int = Field(default=1, ge=1, le=300)
    """scale: days of trades as loaded, 57,600 trades each per 1,000 customers, about 60 MB; the specification
    has 300"""
    result_clients: int = Field(default=2, ge=1, le=1_000)
    """of the clients, so many are the market's and execute Trade-Result alone"""
    feed_clients: int = Field(default=1, ge=1, le=1_000)
    """of the clients, so many are the market's and execute Market-Feed alone"""
    conditions: Literal["three", "all"] = "three"
    """conditions of consistency to check after each run: the three of the specification, or all seven; of the
    loaded data, once, all seven in either case; a run that violates one is void"""

    @property
    def long_pauses(self) -> str:
        """The market takes about a second for an order."""
        return "the market's delays of orders are"

    @property
    def clients_apart(self) -> int:
        """Those of the market."""
        return self.result_clients + self.feed_clients

    def summary(self) -> dict[str, str]:
        """Customers, days, arrival, threads."""
        days = f"{self.days} day{'s' * (self.days != 1)} of trades"
        return {
            "workload": f"{self.kind} (derived from TPC-E, not a TPC benchmark), {self.customers:,}"
            f" customers, {days}",
            "arrival": f"{self.arrival.summary()}; {self.clients_apart} of the clients are the market",
            "threads": str(self.threads),
        }
