"""Monitors of a study: rates of the lab's own, queries whose columns are counters and gauges; probes."""

from typing import Annotated, Any, Self

from pydantic import Discriminator, Field, Tag, model_validator

from steelyard.study.key_types import FileName, Form, SqlText, Strict, Toml

Column = Annotated[
    str,
    Form(
        r"^[a-z][a-z0-9_]{0,62}$",
        "invalid column: use lower-case letters, digits and underscores (name it by `as` in the SQL)",
    ),
]
_MonitorName = Annotated[
    str,
    Form(
        r"^[a-z0-9][a-z0-9-]{0,31}$",
        "invalid name of a monitor: use lower-case letters, digits and hyphens (max. 32)",
    ),
]
_RateHz = Annotated[float, Field(ge=0.001, le=100)]
_TOTAL, _LIMIT = "_total", "_limit"


class SqlMonitor(Strict):
    """A query whose columns are counters and gauges, by a connection of its own to the server under load."""

    ONLY_IF = dict.fromkeys(("sql", "counters", "gauges", "by", "latches"), "no set")

    set: str = ""
    """a set of steelyard's, by name; its SQL and columns need no other key"""
    sql: SqlText = ""
    """one query; needed, or sql_file or set"""
    sql_file: FileName | None = None
    """file that holds the query, from the folder of the study file"""
    every_s: float = Field(default=1.0, ge=0.01, le=1000)
    """between readings; phases and turns are read at both edges"""
    counters: list[Column] = Field(default_factory=list[Column], max_length=50)
    """columns that only grow: rates per second and per transaction; the unit is the last word of the name:
    wait_ns, read_bytes"""
    gauges: list[Column] = Field(default_factory=list[Column], max_length=50)
    """columns that are values of the moment; x_limit is the largest value of x"""
    by: Column | None = None
    """column that names a series: one per row; default: the query has one row"""
    latches: bool = False
    """rows are latches: the counters gets, misses, spin_gets, sleeps, wait_ns and get_ns fill the table
    `latches`"""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.set:
            return self
        if not self.sql.strip():
            raise ValueError('the query is needed: sql = "select ...", sql_file = "NAME.sql" or set = "NAME"')
        names = [*self.counters, *self.gauges, *([self.by] if self.by else [])]
        if not self.counters and not self.gauges:
            raise ValueError("counters or gauges is needed: the columns to keep")
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise ValueError(f"{twice} stands in two places: give each column one meaning")
        for name in self.counters:
            if name.endswith(_LIMIT):
                raise ValueError(f"counters: {name}: a name that ends in {_LIMIT} belongs to a gauge")
        for name in self.gauges:
            if name.endswith(_TOTAL):
                raise ValueError(f"gauges: {name}: a name that ends in {_TOTAL} belongs to a counter")
            if name.endswith(_LIMIT) and (whole := name.removesuffix(_LIMIT)) not in self.gauges:
                raise ValueError(f"gauges: {name}: it is the limit of {whole}: give it too")
        if self.latches and not self.by:
            raise ValueError("latches: by = the column that names a latch is needed")
        return self


def _tag(value: Any) -> str:
    return "a query" if isinstance(value, dict | SqlMonitor) else "a rate"


# tags stand in the paths of errors, so none may be a key: a key holds no blank here
Monitors = dict[
    _MonitorName,
    Annotated[Annotated[_RateHz, Tag("a rate")] | Annotated[SqlMonitor, Tag("a query")], Discriminator(_tag)],
]


class Probes(Strict):
    """Sources beside the monitors. Latches are on by default, all else is off.

    Scheduling and gets have diagnostic phases of their own after each load point, which are not measured:
    scheduling-trace and latch-count.
    """

    profile_hz: int = Field(default=0, ge=0, le=1000)
    """samples of stacks per second and CPU; 0: no profile"""
    locks: bool = False
    """waits for kernel locks, by call site"""
    scheduling_trace_s: float = Field(default=0, ge=0, le=60)
    """seconds of the phase scheduling-trace, which records scheduling events and is not measured: recording
    costs about 10 % of throughput; 0: none"""
    latches: bool = True
    """sleeps for latches of a PostgreSQL that steelyard starts, by tranche, where permitted"""

    latch_count_s: float = Field(default=0, ge=0, le=60)
    """seconds of the phase latch-count, which counts the gets of those latches and is not measured: counting
    costs 5 to 50 % of throughput; 0: none"""

    @property
    def of_the_kernel(self) -> Toml:
        """The probes that need no server with known latches: all but latches and their gets."""
        return self.model_dump(exclude={"latches", "latch_count_s"})

    @property
    def requested(self) -> bool:
        """Whether the study names a probe, be it one that is on by default."""
        return bool(self.sources) or (self.latches and "latches" in self.model_fields_set)

    @property
    def sources(self) -> set[str]:
        """The sources that are off by default and asked for, by their names in the core."""
        asked = {"profile": self.profile_hz, "locks": self.locks, "sched": self.scheduling_trace_s}
        return {name for name, value in {**asked, "latches": self.latch_count_s}.items() if value}
