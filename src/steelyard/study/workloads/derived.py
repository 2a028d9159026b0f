"""The workloads of order entry and of a brokerage, derived from the TPC-C and TPC-E specifications."""

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.study.key_types import Idle, Strict
from steelyard.study.workloads.transactions import DerivedWorkload

NOT_TPC = (
    "Derived from the TPC-C specification; not a TPC benchmark; results are not comparable with published TPC"
    " results"
)
# clause 2.1.6.1: how far the constants of last names in the run and in the data may be apart
_LAST_NAMES_APART = frozenset(range(65, 120)) - {96, 112}
# clause 1.4 of the specification, as references of a table's columns
_FOREIGN_KEYS = {
    "district (d_w_id)": "warehouse (w_id)",
    "customer (c_w_id, c_d_id)": "district (d_w_id, d_id)",
    "history (h_c_w_id, h_c_d_id, h_c_id)": "customer (c_w_id, c_d_id, c_id)",
    "history (h_w_id, h_d_id)": "district (d_w_id, d_id)",
    "orders (o_w_id, o_d_id, o_c_id)": "customer (c_w_id, c_d_id, c_id)",
    "new_order (no_w_id, no_d_id, no_o_id)": "orders (o_w_id, o_d_id, o_id)",
    "stock (s_w_id)": "warehouse (w_id)",
    "stock (s_i_id)": "item (i_id)",
    "order_line (ol_w_id, ol_d_id, ol_o_id)": "orders (o_w_id, o_d_id, o_id)",
    "order_line (ol_supply_w_id, ol_i_id)": "stock (s_w_id, s_i_id)",
}


class Constants(Strict):
    """C of NURand(A, x, y), the same for all clients of all runs (TPC-C 2.1.6)."""

    last_name_loaded: int = Field(default=208, ge=0, le=255)
    """of last names in the data"""
    last_name: int = Field(default=123, ge=0, le=255)
    """of last names in the run; 65 to 119 from that in the data, neither 96 nor 112"""
    customer: int = Field(default=259, ge=0, le=1023)
    """of numbers of customers"""
    item: int = Field(default=7911, ge=0, le=8191)
    """of numbers of items"""

    @model_validator(mode="after")
    def _apart(self) -> Self:
        if abs(self.last_name - self.last_name_loaded) not in _LAST_NAMES_APART:
            raise ValueError(
                "last_name and last_name_loaded must differ by 65 to 119, and by neither 96 nor 112"
                " (TPC-C 2.1.6.1)"
            )
        return self


class OrderEntryWorkload(DerivedWorkload):
    """Orders, payments, deliveries and queries of a wholesaler's warehouses. Derived from the TPC-C
    specification; not a TPC benchmark; results are not comparable with published TPC results.
    """

    CLIENT = f"{DerivedWorkload.CLIENT} home reads waits report_clients"
    SMALLEST = {"warehouses": 1}

    kind: Literal["order-entry"]
    warehouses: int = Field(default=1, ge=1, le=10_000)
    """scale: 600,000 rows and about 110 MB each, with indexes"""
    home: Literal["fixed", "free"] = "fixed"
    """fixed: each client stays in one warehouse, client N in the one of number N modulo warehouses; free:
    each transaction draws its warehouse"""
    reads: Literal["single", "list"] = "single"
    """single: a new order reads item and stock of each line by statements of their own; list: of all lines by
    two statements, and the server computes amounts and stocks"""
    waits: bool = False
    """keying and think times of the specification (18 + 12 s for a new order); it has ten clients per
    warehouse then"""
    report_clients: int = Field(default=0, ge=0, le=1_000)
    """of the clients, so many execute a reporting query over all order lines, one after another, and nothing
    else; it is counted apart from order entry. Settings `report.` of scope host schedule their sessions"""
    conditions: Literal["four", "all"] = "four"
    """conditions of consistency to check after each run: the first four, or all that hold then; of the loaded
    data, once, all twelve in either case; a run that violates one is void"""
    constants: Constants = Constants()

    def idle(self) -> Idle:
        """Keys without effect in one warehouse, or with another kind of arrival."""
        if self.warehouses == 1:
            yield ("home",), "there is one warehouse"
        yield from super().idle()

    @property
    def thinks(self) -> bool:
        """Whether clients pause between transactions."""
        return self.waits or super().thinks

    @property
    def long_pauses(self) -> str:
        """Keying and think times; reporting queries."""
        if self.report_clients:
            return "reporting queries are"
        return "keying and think times are" if self.waits else ""

    @property
    def background_clients(self) -> int:
        """Those of the reporting query."""
        return self.report_clients

    def schema_settings(self) -> Mapping[str, str]:
        """`foreign_keys`: the ten of the specification."""
        return {"foreign_keys": ";\n".join(_foreign_key(*key) for key in _FOREIGN_KEYS.items())}

    def summary(self) -> dict[str, str]:
        """Warehouses, arrival, threads."""
        scale = f"{self.warehouses} warehouse{'s' * (self.warehouses != 1)}"
        reports = f"; {self.report_clients} of the clients report" if self.report_clients else ""
        return {
            "workload": f"{self.kind} (derived from TPC-C, not a TPC benchmark), {scale}",
            "arrival": ("keying and think times" if self.waits else self.arrival.summary()) + reports,
            "threads": str(self.threads),
        }


def _foreign_key(columns: str, referenced: str) -> str:
    table, _, own = columns.partition(" ")
    name = f"{table}_{referenced.partition(' ')[0]}"
    return f"alter table {table} add constraint {name} foreign key {own} references {referenced}"


NOT_TPC_E = (
    "Derived from the TPC-E specification; not a TPC benchmark; results are not comparable with published TPC"
    " results"
)


class BrokerageWorkload(DerivedWorkload):
    """Customers' orders to trade securities, and the market that executes them. Derived from the TPC-E
    specification; not a TPC benchmark; results are not comparable with published TPC results.
    """

    CLIENT = f"{DerivedWorkload.CLIENT} result_clients feed_clients"
    SMALLEST = {"customers": 1_000, "days": 1}

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
