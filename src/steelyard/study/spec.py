"""What a study file may say: the one definition of its keys, from which the JSON Schema is made.

A study asks a question of a subject under a workload. Its factors are what changes; its plan says
how often, how long and in which order. The same words stand in bundles, tables and reports.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Scope = Literal["version", "server", "session", "client"]
Setting = str | int | float | bool
Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9.+-]{1,24}$")]

CLIENT_SETTINGS = (
    "handle",
    "text",
    "parameters",
    "distinct_texts",
    "threads",
    "think_ms",
    "rate_per_s",
)


class Strict(BaseModel):
    """Base of every part: unknown keys are errors, values never change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Subject(Strict):
    """What is weighed."""

    kind: str = Field(description="a registered subject: postgres, null")
    bindir: str | None = Field(default=None, description="folder of the server's programs; default: embedded")
    dsn: str | None = Field(
        default=None,
        description="address of a server that is not ours; secrets as ${NAME} from the environment",
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict, description="server settings held the same in every option"
    )
    session: dict[str, Setting] = Field(
        default_factory=dict, description="session settings held the same in every option"
    )

    @model_validator(mode="after")
    def _one_origin(self) -> Subject:
        if self.dsn and (self.bindir or self.settings):
            raise ValueError(
                "dsn names a server that is not ours: bindir and settings cannot be changed there"
            )
        return self


class Arrival(Strict):
    """How clients arrive: closed loop with think time, or open loop at a rate."""

    kind: Literal["closed", "open"] = "closed"
    think_ms: float = Field(default=0.0, ge=0, description="closed loop: pause after each transaction")
    think: Literal["fixed", "exponential"] = "fixed"
    rate_per_s: float | None = Field(
        default=None, gt=0, description="open loop: transactions started a second"
    )
    spacing: Literal["poisson", "even"] = "poisson"

    @model_validator(mode="after")
    def _rate_when_open(self) -> Arrival:
        if (self.kind == "open") != (self.rate_per_s is not None):
            raise ValueError("rate_per_s belongs to kind = 'open', and is needed there")
        if self.kind == "open" and self.think_ms:
            raise ValueError("think_ms belongs to kind = 'closed': an open loop starts by the clock")
        return self


class Workload(Strict):
    """Statements with parameters and weights, and how they reach the server."""

    kind: str = Field(default="lookup", description="a registered workload")
    rows: int = Field(default=100_000, ge=1, description="size of the data set")
    handle: Literal["none", "unnamed", "named", "per-use", "left"] = Field(
        default="named",
        description="none: simple query; unnamed: parsed each time without a name; named: prepared "
        "once; per-use: prepared, executed, closed; left: prepared and never closed",
    )
    text: Literal["identical", "distinct", "unique"] = Field(
        default="identical", description="how many different texts the server sees: one, N, or always new"
    )
    distinct_texts: int = Field(default=200, ge=1, description="the N of text = 'distinct'")
    parameters: Literal["client", "none"] | None = Field(
        default=None,
        description="client: bound; none: literals in the text; default: what handle and text imply",
    )
    arrival: Arrival = Arrival()
    threads: int = Field(default=1, ge=1, le=256, description="event-loop threads of the load engine")
    deadline_ms: float = Field(default=10_000, gt=0, description="a transaction over it is an error")
    statements: dict[str, Statement] = Field(
        default_factory=dict, description="kind = 'sql': statements of your own by name"
    )
    transactions: dict[str, Transaction] = Field(
        default_factory=dict,
        description="kind = 'sql': transactions by name; default: one a statement",
    )
    schema_sql: str = Field(default="", description="kind = 'sql': script that makes and fills the tables")

    @property
    def contradiction(self) -> str:
        """Why handle, text and parameters cannot go together; '' when they can."""
        if self.handle == "none" and self.parameters == "client":
            return "handle 'none' sends literals: a simple query carries no parameters"
        if self.handle == "named" and self.text == "unique":
            return "handle 'named' with text 'unique' prepares once what is never seen again"
        return ""

    @property
    def sends_parameters(self) -> bool:
        """Whether values are bound (True) or stand in the text as literals."""
        if self.parameters is not None:
            return self.parameters == "client"
        return self.handle != "none" and self.text != "unique"


class Statement(Strict):
    """One statement; `:name` marks a parameter, `{tag}` what tells one text from another."""

    sql: str
    weight: float = Field(default=1.0, gt=0)
    parameters: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="generator by parameter: {kind = 'uniform', low = 1, high = 9}",
    )


class Transaction(Strict):
    """Statements executed in this order as one unit."""

    statements: list[str] = Field(min_length=1)
    weight: float = Field(default=1.0, gt=0)
    begin: bool = Field(default=False, description="wrap in BEGIN and COMMIT")


class Factor(Strict):
    """The one thing that changes, and its levels by code."""

    scope: Scope
    setting: str | None = Field(
        default=None, description="which setting the levels give; default: the factor's name"
    )
    levels: dict[Code, Setting | dict[str, Setting]] = Field(min_length=2)


class Stop(Strict):
    """When to stop before the last block: looks at the interval only after `after_blocks`."""

    half_width_percent: float = Field(gt=0, description="stop when every interval is this narrow")
    after_blocks: int = Field(default=5, ge=5)


class Plan(Strict):
    """How often, how long, in which order."""

    clients: list[Annotated[int, Field(ge=1, le=10_000)]] = Field(default=[8], min_length=1)
    warm_up_s: float = Field(default=2.0, ge=0, le=3600)
    measure_s: float = Field(default=10.0, gt=0, le=86_400)
    cool_down_s: float = Field(default=0.5, ge=0, le=3600)
    blocks: int = Field(default=6, ge=1, le=1000, description="how often each option runs")
    seed: int = Field(default=1, ge=0, description="of the order of runs and of the work itself")
    baseline: str | None = Field(
        default=None, description="label that others are compared with; default: the first"
    )
    smallest_effect_percent: float = Field(
        default=3.0,
        gt=0,
        lt=100,
        description="the smallest difference that matters: the margin of 'equivalent'",
    )
    pin: bool = Field(default=True, description="keep server and load engine on CPUs apart")
    stop: Stop | None = None


class Study(Strict):
    """A question, a subject, a workload, factors, a plan."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
    question: str = Field(min_length=1)
    subject: Subject
    workload: Workload = Workload()
    factors: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")], Factor] = Field(min_length=1)
    exclude: list[dict[str, str | list[str]]] = Field(
        default_factory=list[dict[str, str | list[str]]],
        description="combinations that make no sense: codes by factor, and a reason under 'why'",
    )
    plan: Plan = Plan()
    monitors: dict[str, Annotated[float, Field(gt=0, le=100)]] | None = Field(
        default=None,
        description="readings a second by monitor; default: what the subject offers, once a second",
    )


Workload.model_rebuild()
Study.model_rebuild()
