"""The keys of a study file: their one definition, from which the JSON Schema is generated; its options.

A study compares options of a subject under a workload. Its factors are what changes; its plan gives
number, length and order of the runs. Bundles, tables and reports use the same names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from steelyard.study.fleet import Fleet
from steelyard.study.key_types import (
    Code,
    KeyName,
    Setting,
    Settings,
    SettingTable,
    SqlText,
    Strict,
    StudyName,
    flat,
)
from steelyard.study.monitors import Monitors, Probes, SqlMonitor
from steelyard.study.passwords import VARIABLE
from steelyard.study.workloads.derived import BrokerageWorkload, OrderEntryWorkload
from steelyard.study.workloads.lookups import CacheWorkload, KeyValueWorkload
from steelyard.study.workloads.of_files import PgbenchWorkload, ReplayWorkload
from steelyard.study.workloads.program import ProgramWorkload, names_in
from steelyard.study.workloads.published import PublishedWorkload
from steelyard.study.workloads.queries import QueriesWorkload
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.study.workloads.threads import ThreadsWorkload
from steelyard.study.workloads.workload import Workload

Scope = Literal["version", "server", "schema", "session", "client", "host"]


class Subject(Strict):
    """What is measured."""

    ONLY_IF = {
        **dict.fromkeys(("bindir", "durability", "data_checksums", "settings"), "no dsn"),
        **dict.fromkeys(("restore", "writes"), "dsn"),
        "facts": "kind = jdbc",
    }

    kind: str
    """name of a registered subject: a server, a program, a latch, a simulated machine"""
    bindir: str | None = None
    """folder of the server's programs; default: embedded"""
    dsn: str | None = Field(max_length=4096, default=None)
    """address of a server not started by steelyard; secrets as ${NAME} from the environment"""
    restore: Literal["none", "reload"] = "none"
    """of a PostgreSQL at an address: reload makes the data in a schema of the lab's own, steelyard_load, and
    loads it for each run; for workloads whose data grow (order-entry, brokerage)"""
    writes: bool = False
    """of a PostgreSQL, MariaDB or MySQL at an address: its data may change; without it, a study whose
    statements write is refused before they do"""
    durability: Literal["server", "off"] = "server"
    """server: as the server's own defaults have it; off: commits do not wait for storage, and a crash loses
    transactions"""
    data_checksums: Literal["auto", "on", "off", "server"] = "auto"
    """checksums of PostgreSQL's data pages, fixed when the data directory is made: on or off in every option;
    server: each version's own default; auto: on in every option where the versions' defaults differ (off
    before 18), else the default"""
    settings: SettingTable = {}
    """server settings, the same in every option"""
    session: SettingTable = {}
    """session settings, the same in every option"""

    facts: dict[str, SqlText] = {}
    """kind = 'jdbc': SQL by name, whose first value is kept as a fact"""


class Factor(Strict):
    """The setting that changes, and its levels by code."""

    scope: Scope
    setting: str | None = None
    """the setting that the levels change; default: the factor's name"""
    levels: dict[Code, Setting | Annotated[SettingTable, BeforeValidator(flat)]] = Field(min_length=1)
    """by code: the value of the setting, or a table of settings; of scope server also {file = 'A.conf'}: a
    settings file of PostgreSQL or MariaDB; of scope schema: SQL that is executed after the data are loaded,
    or {sql_file = 'NAME.sql'}; with `setting`, true or false: whether SQL of that name of the workload is
    executed (foreign_keys of order-entry)"""


class Stop(Strict):
    """When to stop before the last block, by the width of intervals, after `after_blocks`.

    The intervals are of throughput; in an open loop, where the rate is given, of p99 latency.
    """

    half_width_percent: float = Field(ge=0.001, le=1e9)
    """stop when every interval is this narrow"""
    after_blocks: int = Field(default=5, ge=5, le=1000)


class Plan(Strict):
    """Number, length and order of the runs."""

    clients: list[Annotated[int, Field(ge=1, le=10_000)]] = Field(default=[8], min_length=1, max_length=1000)
    warm_up_s: float = Field(default=2.0, ge=0, le=3600)
    measure_s: float = Field(default=10.0, ge=0.001, le=86_400)
    transactions: int | None = Field(default=None, ge=1, le=10**12)
    """measure ends after this number at each load point, at the latest after measure_s; needs
    workload.threads = 1"""
    cool_down_s: float = Field(default=0.5, ge=0, le=3600)
    turns: Literal["auto"] | bool = "auto"
    """run the options of a block in turns: all are ready at once, and each loads its server for turn_ms while
    the others rest; auto: where subject, workload and probes permit it, which the plan shows"""
    turn_ms: float = Field(default=250.0, ge=20, le=60_000)
    """length of a turn; measure_s is the sum of an option's turns in a block"""
    blocks: int = Field(default=6, ge=1, le=1000)
    """each option runs once per block"""
    seed: int = Field(default=1, ge=0, le=2**63 - 1)
    """seed of the order of runs and of the work"""
    baseline: str | None = None
    """label of the option that the others are compared with; default: the first"""
    smallest_effect_percent: float = Field(default=3.0, ge=0.001, lt=100)
    """the smallest difference that matters: the margin of 'equivalent'"""
    error_rate_limit_percent: float = Field(default=0.1, ge=0, lt=100)
    """an option whose error rate exceeds another's by more than this many percentage points cannot win over
    it"""
    set_up_limit_s: float = Field(default=3600.0, gt=0, le=86_400)
    """longest time for a server to load the data, or to reset them"""
    pin: bool = True
    """run server and load engine on separate CPUs"""
    stop: Stop | None = None
    disturbed: Literal["auto", "redo", "keep", "stop"] = "auto"
    """when other work kept the server or the load engine from its CPUs for 10 % of its busy time: `redo` the
    block at the end (in all as often as half of the planned blocks, at least once; after that as `keep`; the
    attempt that was disturbed less counts), `keep` the run and say so, or `stop` the study; auto: `keep` in
    turns, where it weighs on all options alike, and of programs, whose own servers look like others; else
    `redo`"""


# every other kind is a workload of statements, from the registry of workloads
_KINDS = (
    "brokerage", "cache", "key-value", "order-entry", "pgbench", "program", "published", "queries",
    "replay", "threads",
)  # fmt: skip


def _workload(value: Any) -> str:
    kind: Any = getattr(value, "kind", None)
    if isinstance(value, dict):
        kind = cast("dict[str, Any]", value).get("kind")
    return f"of {kind}" if kind in _KINDS else "of statements"


# tags stand in the paths of errors, so none may be a key: a key holds no blank here
AnyWorkload = Annotated[
    Annotated[StatementWorkload, Tag("of statements")]
    | Annotated[CacheWorkload, Tag("of cache")]
    | Annotated[KeyValueWorkload, Tag("of key-value")]
    | Annotated[BrokerageWorkload, Tag("of brokerage")]
    | Annotated[OrderEntryWorkload, Tag("of order-entry")]
    | Annotated[PgbenchWorkload, Tag("of pgbench")]
    | Annotated[ProgramWorkload, Tag("of program")]
    | Annotated[PublishedWorkload, Tag("of published")]
    | Annotated[QueriesWorkload, Tag("of queries")]
    | Annotated[ReplayWorkload, Tag("of replay")]
    | Annotated[ThreadsWorkload, Tag("of threads")],
    Discriminator(_workload),
]


class Reboots(Strict):
    """How this machine boots another kernel, where levels of scope host need a boot."""

    command: list[str] | None = Field(default=None, min_length=1)
    """boots {kernel} with {cmdline}; default: the study stops, and the user boots"""
    unit: bool = False
    """systemd continues the study after each boot, until it ends (root)"""
    most: int = Field(default=100, ge=1, le=10_000)
    """largest number of boots by `command`; then the study fails"""

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        text = " ".join(self.command or ())
        if unknown := sorted({*names_in(text), *VARIABLE.findall(text)} - {"kernel", "cmdline"}):
            raise ValueError(f"command: unknown {{{unknown[0]}}}; known: {{kernel}}, {{cmdline}}")
        return self


_Exclusions = list[dict[str, str | list[str]]]


class Study(Strict):
    """A question, a subject, a workload, factors, a plan."""

    name: StudyName
    question: str = Field(min_length=1, max_length=1000)
    subject: Subject
    workload: AnyWorkload = StatementWorkload()
    factors: dict[KeyName, Factor] = {}
    """what changes; none: one option is measured alone"""
    exclude: _Exclusions = Field(default_factory=_Exclusions, max_length=1000)
    """combinations to leave out: codes by factor, and the reason under 'why'"""
    host: Annotated[SettingTable, BeforeValidator(flat)] = {}
    """settings of scope host, the same in every option"""
    fleet: Fleet | None = None
    """machines that take part; default: this one alone"""
    reboots: Reboots = Reboots()
    plan: Plan = Plan()
    monitors: Monitors = Field(default_factory=Monitors)
    """by monitor: readings per second, instead of the monitors of the subject, which read once per second,
    most of them, and at both edges of each turn; or a query, beside those"""
    probes: Probes = Probes()
    overlay: list[str] = []
    """names of published recordings whose curves the report shows as well"""

    @property
    def rates_hz(self) -> Mapping[str, float] | None:
        """Readings per second of the lab's own monitors; None: those of the subject, at their own rates."""
        rates = {name: rate for name, rate in self.monitors.items() if not isinstance(rate, SqlMonitor)}
        return rates or None

    @property
    def sql_monitors(self) -> dict[str, SqlMonitor]:
        """Monitors by SQL."""
        return {name: sql for name, sql in self.monitors.items() if isinstance(sql, SqlMonitor)}


@dataclass(frozen=True)
class Option:
    """One combination of levels, resolved: everything of the study that its runs need.

    levels: code by factor. workload: with the option's client settings. bindir: folder of the server's
    programs, None: the subject's default. server, session, host: settings by name, the study's own and
    those of the levels. schema: SQL after the data, by factor of scope schema; '' leaves them as they are.
    """

    label: str
    levels: Mapping[str, str]
    workload: Workload
    bindir: str | None = None
    server: Settings = field(default_factory=SettingTable)
    session: Settings = field(default_factory=SettingTable)
    host: Settings = field(default_factory=SettingTable)
    schema: Mapping[str, str] = field(default_factory=dict[str, str])


Options = Sequence[Option]


@dataclass(frozen=True)
class Slot:
    """One planned run. block and slot count from 1."""

    block: int
    slot: int
    option: Option
