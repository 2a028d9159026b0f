"""The nouns: how a study was measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard import quantities
from steelyard.bundle.series.read import MonitorCost

Texts = Mapping[str, str]


@dataclass(frozen=True)
class FactorFacts:
    """A factor as the study gives it.

    scope: '' where nobody knows it. levels: what each code stands for; '' where it stands for itself.
    """

    name: str
    scope: str
    levels: Texts


@dataclass(frozen=True)
class Phases:
    """The plan in numbers. transactions: that end the measure phase; None: measure_s does.

    own_end: a program runs to its own end, whatever measure_s. NaN: somebody else planned it.
    """

    clients: tuple[int, ...]
    warm_up_s: float
    measure_s: float
    cool_down_s: float
    blocks: int
    seed: int
    transactions: int | None = None
    own_end: bool = False


@dataclass(frozen=True)
class About:
    """How it was measured: everything a reader needs to judge, or to repeat it.

    when: start of the study, ISO 8601. machine, server_settings, engine: facts by name, in the
    order to be shown (CPU, cores, memory, kernel, virtualisation, mitigations ...). option_levels:
    code by factor, for each option. bundle, report: names as the user would type them; report
    is '' where none was written. runs_done: those that count. point_is, points_are: what the plan's numbers
    of clients count, one and many; work_is: one of what they do; who_works: whose CPU counts. kernels: what
    each says of itself, where several were booted. schemas: size of the data by option, where
    options differ in it. next_command: what to type next, here; page_command: the same, in the folder of
    the report. resets_server: before each run; a server at an address is used as it
    is. load_points: numbers of clients that were connected; empty: those of the plan.
    in_turns: the options of a block took turns.
    """

    name: str
    question: str
    when: str
    bundle: str
    steelyard_version: str
    phases: Phases
    runs_done: int
    runs_void: int = 0
    runs_disturbed: int = 0
    runs_all: int = 0
    subject: str = ""
    point_is: str = "client"
    points_are: str = "clients"
    work_is: str = "transaction"
    who_works: str = "server"
    server_version: str = ""
    report: str = ""
    next_command: str = ""
    page_command: str = ""
    machine: Texts = field(default_factory=dict[str, str])
    kernels: Texts = field(default_factory=dict[str, str])
    server_settings: Texts = field(default_factory=dict[str, str])
    engine: Texts = field(default_factory=dict[str, str])
    monitors: tuple[MonitorCost, ...] = ()
    factors: tuple[FactorFacts, ...] = ()
    option_levels: Mapping[str, Texts] = field(default_factory=dict[str, Texts])
    schemas: Texts = field(default_factory=dict[str, str])
    resets_server: bool = True
    load_points: tuple[int, ...] = ()
    in_turns: bool = False

    def count(self, clients: int) -> str:
        """`8 clients`: a load point."""
        return quantities.count(clients, self.point_is, self.points_are)
