"""The workload of database servers: statements, their parameters and texts, and how clients arrive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from steelyard.study.settings import Strict
from steelyard.study.workloads.generators import Generator
from steelyard.study.workloads.workload import KeyPath, Workload


class Arrival(Strict):
    """How clients arrive: closed loop with think time, or open loop at a rate."""

    kind: Literal["closed", "open"] = "closed"
    think_ms: float = Field(
        default=0.0, ge=0, le=8.64e7, description="closed loop: pause after each transaction"
    )
    think: Literal["fixed", "exponential"] = "fixed"
    rate_per_s: float | None = Field(
        default=None, ge=0.001, le=1e9, description="open loop: transactions started a second"
    )
    spacing: Literal["poisson", "even"] = "poisson"

    @model_validator(mode="after")
    def _rate_when_open(self) -> Arrival:
        if (self.kind == "open") != (self.rate_per_s is not None):
            raise ValueError("rate_per_s belongs to kind = 'open', and is needed there")
        return self


class Statement(Strict):
    """One statement; `:name` marks a parameter, `{tag}` what tells one text from another."""

    sql: str = Field(pattern=r"^[^\x00]+$")
    weight: float = Field(default=1.0, ge=1e-9, le=1e9)
    parameters: dict[str, Generator] = Field(
        default_factory=dict[str, Generator],
        description="generator by parameter: {kind = 'uniform', low = 1, high = 9}",
    )


class Transaction(Strict):
    """Statements executed in this order as one unit."""

    statements: list[str] = Field(min_length=1)
    weight: float = Field(default=1.0, ge=1e-9, le=1e9)
    begin: bool = Field(default=False, description="wrap in BEGIN and COMMIT")


class StatementWorkload(Workload):
    """Statements with parameters and weights, and how they reach the server."""

    CLIENT_SETTINGS: ClassVar[Mapping[str, KeyPath]] = {
        **{
            key: (key,)
            for key in ("handle", "text", "parameters", "distinct_texts", "threads", "deadline_ms")
        },
        **{key: ("arrival", key) for key in ("think_ms", "rate_per_s")},
    }

    kind: str = Field(default="lookup", description="lookup, orders, storm, or sql: statements of your own")
    rows: int = Field(
        default=100_000, ge=1, le=10**12, description="size of the data set; not of kind = 'sql'"
    )
    handle: Literal["none", "unnamed", "named", "per-use", "left"] = Field(
        default="named",
        description="none: simple query; unnamed: parsed each time without a name; named: prepared "
        "once; per-use: prepared, executed, closed; left: prepared and never closed",
    )
    text: Literal["identical", "distinct", "unique"] = Field(
        default="identical", description="how many different texts the server sees: one, N, or always new"
    )
    distinct_texts: int = Field(
        default=200, ge=1, le=1_000_000, description="the N of text = 'distinct', and of no other"
    )
    parameters: Literal["client", "none"] | None = Field(
        default=None,
        description="client: bound; none: literals in the text; default: what handle and text imply",
    )
    arrival: Arrival = Arrival()
    threads: int = Field(default=1, ge=1, le=256, description="event-loop threads of the load engine")
    deadline_ms: float = Field(
        default=10_000, ge=0.001, le=6e8, description="a transaction over it is an error"
    )
    message_mib_max: int = Field(
        default=64, ge=1, le=1024, description="MiB; a server whose message is larger loses the connection"
    )
    statements: dict[str, Statement] = Field(
        default_factory=dict[str, Statement], description="kind = 'sql': statements of your own by name"
    )
    transactions: dict[str, Transaction] = Field(
        default_factory=dict[str, Transaction],
        description="kind = 'sql': transactions by name; default: one a statement",
    )
    schema_sql: str = Field(default="", description="kind = 'sql': script that makes and fills the tables")

    def idle(self) -> Iterator[tuple[KeyPath, str]]:
        """Keys of other kinds of workload, text and arrival."""
        if self.kind == "sql":
            yield ("rows",), "statements of your own bring their data in schema_sql"
        else:
            for key in ("statements", "transactions", "schema_sql"):
                yield (key,), f"kind '{self.kind}' brings its own; kind = 'sql' takes yours"
        if self.text != "distinct":
            yield ("distinct_texts",), f"text is '{self.text}'; it is the N of text = 'distinct'"
        if self.arrival.kind == "open":
            for key in ("think_ms", "think"):
                yield ("arrival", key), "an open loop starts by the clock; kind = 'closed' thinks"
        else:
            yield ("arrival", "spacing"), "a closed loop has no spacing of its own; kind = 'open' has"
            if not self.arrival.think_ms:
                yield ("arrival", "think"), "think_ms is 0: there is no think time"

    @property
    def sends_parameters(self) -> bool:
        """Whether values are bound (True) or stand in the text as literals."""
        if self.parameters is not None:
            return self.parameters == "client"
        return self.handle != "none" and self.text != "unique"

    @property
    def open_loop(self) -> bool:
        """Whether transactions arrive at a rate."""
        return self.arrival.kind == "open"

    @property
    def counts_transactions(self) -> bool:
        """Yes, where one thread sends them."""
        return True

    @property
    def thinks(self) -> bool:
        """Whether there is think time."""
        return self.arrival.think_ms > 0

    @property
    def engine_threads(self) -> int:
        """Event-loop threads."""
        return self.threads

    def summary(self) -> dict[str, str]:
        """Kind and size, arrival, threads."""
        arrival = self.arrival
        own = f"{len(self.statements)} statements of the study's own"
        return {
            "workload": f"{self.kind}, {own if self.kind == 'sql' else f'{self.rows:,} rows'}",
            "arrival": f"open loop, {arrival.rate_per_s:g}/s, {arrival.spacing}"
            if self.open_loop
            else f"closed loop, think time {arrival.think_ms:g} ms",
            "threads": str(self.threads),
        }
