"""What a study file may say: the one definition of its keys, from which the JSON Schema is made.

A study asks a question of a subject under a workload. Its factors are what changes; its plan says
how often, how long and in which order. The same words stand in bundles, tables and reports.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from steelyard.study.key_types import Code, Setting, Strict, flat
from steelyard.study.passwords import VARIABLE
from steelyard.study.probes import Probes
from steelyard.study.workloads.cache import CacheWorkload
from steelyard.study.workloads.key_value import KeyValueWorkload
from steelyard.study.workloads.program import ProgramWorkload, names_in
from steelyard.study.workloads.published import PublishedWorkload
from steelyard.study.workloads.queries import QueriesWorkload
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.study.workloads.threads import ThreadsWorkload

Scope = Literal["version", "server", "session", "client", "host"]


class Subject(Strict):
    """What is weighed."""

    kind: str = Field(
        description="name of a registered subject: a server, a program, a latch, a simulated machine"
    )
    bindir: str | None = Field(default=None, description="folder of the server's programs; default: embedded")
    dsn: str | None = Field(
        max_length=4096,
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


class Factor(Strict):
    """The one thing that changes, and its levels by code."""

    scope: Scope
    setting: str | None = Field(
        default=None, description="which setting the levels give; default: the factor's name"
    )
    levels: dict[Code, Setting | Annotated[dict[str, Setting], BeforeValidator(flat)]] = Field(min_length=1)


class Stop(Strict):
    """When to stop before the last block: looks at intervals only, after `after_blocks`.

    They are those of throughput; in an open loop, where the rate is given, of p99 latency.
    """

    half_width_percent: float = Field(ge=0.001, le=1e9, description="stop when every interval is this narrow")
    after_blocks: int = Field(default=5, ge=5, le=1000)


class Plan(Strict):
    """How often, how long, in which order."""

    clients: list[Annotated[int, Field(ge=1, le=10_000)]] = Field(default=[8], min_length=1, max_length=1000)
    warm_up_s: float = Field(default=2.0, ge=0, le=3600)
    measure_s: float = Field(default=10.0, ge=0.001, le=86_400)
    transactions: int | None = Field(
        default=None,
        ge=1,
        le=10**12,
        description="measure ends with so many at each point, after measure_s at the latest;"
        " workload.threads = 1",
    )
    cool_down_s: float = Field(default=0.5, ge=0, le=3600)
    blocks: int = Field(default=6, ge=1, le=1000, description="how often each option runs")
    seed: int = Field(
        default=1, ge=0, le=2**63 - 1, description="of the order of runs and of the work itself"
    )
    baseline: str | None = Field(
        default=None, description="label that others are compared with; default: the first"
    )
    smallest_effect_percent: float = Field(
        default=3.0,
        ge=0.001,
        lt=100,
        description="the smallest difference that matters: the margin of 'equivalent'",
    )
    error_rate_limit_percent: float = Field(
        default=0.1,
        ge=0,
        lt=100,
        description="an option whose error rate exceeds another's by more than this many percentage points"
        " cannot win over it",
    )
    set_up_limit_s: float = Field(
        default=3600.0,
        gt=0,
        le=86_400,
        description="the longest that a server may take to load the data, or to set them back",
    )
    pin: bool = Field(default=True, description="keep server and load engine on CPUs apart")
    stop: Stop | None = None


# every other kind is of statements: those of the registry of workloads
_KINDS = ("cache", "key-value", "program", "published", "queries", "threads")


def _workload(value: Any) -> str:
    kind: Any = getattr(value, "kind", None)
    if isinstance(value, dict):
        kind = cast("dict[str, Any]", value).get("kind")
    return kind if kind in _KINDS else "statements"


AnyWorkload = Annotated[
    Annotated[StatementWorkload, Tag("statements")]
    | Annotated[CacheWorkload, Tag("cache")]
    | Annotated[KeyValueWorkload, Tag("key-value")]
    | Annotated[ProgramWorkload, Tag("program")]
    | Annotated[PublishedWorkload, Tag("published")]
    | Annotated[QueriesWorkload, Tag("queries")]
    | Annotated[ThreadsWorkload, Tag("threads")],
    Discriminator(_workload),
]


class Reboots(Strict):
    """How this machine gets from one kernel to another, where levels of scope host take a boot."""

    command: list[str] | None = Field(
        default=None,
        min_length=1,
        description="boots {kernel} with {cmdline}; default: the study stops, and asks for it",
    )
    unit: bool = Field(
        default=False, description="have systemd go on with the study after each boot, until it ends (root)"
    )
    most: int = Field(
        default=100, ge=1, le=10_000, description="boots by `command`, after which the study fails"
    )

    @model_validator(mode="after")
    def _known_words(self) -> Reboots:
        text = " ".join(self.command or ())
        if unknown := sorted({*names_in(text), *VARIABLE.findall(text)} - {"kernel", "cmdline"}):
            raise ValueError(f"command: nothing fills {{{unknown[0]}}}; known: {{kernel}}, {{cmdline}}")
        return self


class Study(Strict):
    """A question, a subject, a workload, factors, a plan."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
    question: str = Field(min_length=1, max_length=1000)
    subject: Subject
    workload: AnyWorkload = StatementWorkload()
    factors: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")], Factor] = Field(
        default_factory=dict[str, Factor], description="what changes; none: one option is measured alone"
    )
    exclude: list[dict[str, str | list[str]]] = Field(
        default_factory=list[dict[str, str | list[str]]],
        max_length=1000,
        description="combinations that make no sense: codes by factor, and a reason under 'why'",
    )
    host: Annotated[dict[str, Setting], BeforeValidator(flat)] = Field(
        default_factory=dict,
        description="settings of scope host held the same in every option",
    )
    reboots: Reboots = Reboots()
    plan: Plan = Plan()
    monitors: dict[str, Annotated[float, Field(ge=0.001, le=100)]] | None = Field(
        default=None,
        description="readings a second by monitor; default: what the subject offers, once a second",
    )
    probes: Probes = Probes()
    overlay: list[str] = Field(
        default_factory=list,
        description="published recordings whose curves the report draws too, by name",
    )
