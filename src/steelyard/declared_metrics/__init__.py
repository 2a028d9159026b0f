"""Declared metrics: each monitor describes its metrics once, in its own file.

The lab uses the rate, the bundle stores the description, the analysis uses the costs per transaction, the
report the charts and units, and the reference page the text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

# in the order of tables and sentences; each kind has its own smallest relevant difference
CostKind = Literal[
    "server CPU", "mode of server CPU", "CPU", "switches", "run-queue wait", "log", "lock wait",
    "storage", "buffers", "events",
]  # fmt: skip
COST_KINDS: tuple[CostKind, ...] = get_args(CostKind)

# what a gauge is of, for the charts; '': none of these
GaugeGroup = Literal["", "memory", "cpu", "connections", "recorded"]

_TOTAL, _LIMIT = "_total", "_limit"
_UNITS = ("ns", "us", "ms", "s", "bytes", "percent")


@dataclass(frozen=True)
class Cost:
    """A cost per transaction that follows from a counter.

    name: of the derived metric, with its unit: wal_bytes_per_txn. entity: entity of the counter; '': that of
    the declaration. also: an entity whose counter is added in runs that have it. better: 'neither' for costs
    of the lab itself. zero_if_absent: a run without the counter costs 0, if other runs have it.
    """

    name: str
    title: str
    kind: CostKind
    entity: str = ""
    better: Literal["lower", "neither"] = "lower"
    zero_if_absent: bool = False
    also: str = ""


# the pooler's CPU time is added: clients need both processes
SERVER_CPU_COST = Cost("server_cpu_us_per_txn", "server CPU", "server CPU", "server", also="pooler")


@dataclass(frozen=True)
class DeclaredMetric:
    """One metric of a monitor. Raises ValueError for a declaration that contradicts itself.

    name: with its unit, and `_total` if it is a counter. entity: its object; `*` matches any text.
    meaning: one sentence. chart: the entity whose values are worth a chart; '': none. group: which figure
    has that chart. limit: `NAME_limit` is read as well, the largest value that the gauge can reach. fills:
    the gauge is an amount that work can add to, and that should be released. of_interval: a reading is the
    mean of the time since the one before it. latch: the column of the table
    `latches` that the counter fills.
    """

    name: str
    entity: str
    meaning: str
    costs: tuple[Cost, ...] = ()
    chart: str = ""
    group: GaugeGroup = ""
    limit: bool = False
    fills: bool = False
    of_interval: bool = False
    latch: str = ""

    def __post_init__(self) -> None:
        of_counters, of_gauges = bool(self.costs or self.latch), bool(self.chart or self.limit or self.fills)
        if of_gauges if self.kind == "counter" else of_counters:
            raise ValueError(
                f"{self.entity} {self.name}: costs and latch belong to counters (`_total`),"
                " chart, limit and fills to gauges"
            )
        if self.group and not self.chart:
            raise ValueError(f"{self.entity} {self.name}: group belongs to a gauge with a chart")
        if self.name.endswith(_LIMIT):
            raise ValueError(f"{self.entity} {self.name}: declare the gauge with limit = True instead")

    @property
    def kind(self) -> Literal["counter", "gauge"]:
        """A counter grows only."""
        return "counter" if self.name.endswith(_TOTAL) else "gauge"

    @property
    def unit(self) -> str:
        """The last word of the name: ns, us, ms, s, bytes or percent; '': a number of things."""
        last = self.name.removesuffix(_TOTAL).rpartition("_")[2]
        return last if last in _UNITS else ""

    def covers(self, entity: str, name: str) -> bool:
        """Whether a sample of this entity and name is declared here."""
        named = name == self.name or (self.limit and name == self.name + _LIMIT)
        return named and fnmatchcase(entity, self.entity)


@dataclass(frozen=True)
class Declaration:
    """Declaration of a monitor: its metrics, and its default sampling rate.

    text: notes on all its metrics, for the reference page.
    """

    metrics: tuple[DeclaredMetric, ...]
    default_hz: float = 1.0
    text: str = ""


Declared = Mapping[str, tuple[DeclaredMetric, ...]]
"""Declared metrics by monitor."""


def as_json(metrics: Iterable[DeclaredMetric]) -> list[dict[str, Any]]:
    """For JSON: values that differ from the defaults, and unit and kind."""
    return [{**_given(metric), "kind": metric.kind, "unit": metric.unit} for metric in metrics]


def _given(noun: Cost | DeclaredMetric) -> dict[str, Any]:
    values = {field.name: getattr(noun, field.name) for field in fields(noun)}
    given = {name: value for name, value in values.items() if value not in ("", False, ())}
    if isinstance(noun, DeclaredMetric) and noun.costs:
        given["costs"] = [asdict(cost) for cost in noun.costs]
    return given
