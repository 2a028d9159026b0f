"""The interface of every workload.

A key without effect is an error, because its author expects an effect.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from steelyard.study.key_types import KeyPath, Strict, Toml


class Workload(Strict):
    """Base of the workloads. CLIENT: keys that a factor of scope client may set, as in the study file."""

    CLIENT: ClassVar[str] = ""
    SMALLEST: ClassVar[Mapping[str, float]] = {}  # keys of the size of the data
    POINT: ClassVar[str] = "client"  # unit of plan.clients
    POINTS: ClassVar[str] = "clients"
    WORK: ClassVar[str] = "transaction"  # unit of work
    simulated: ClassVar[bool] = False
    """Whether the plan's seconds are simulated."""
    steady: ClassVar[bool] = True
    """Whether each second of a run holds the same work, so that its rate over time is meaningful."""
    in_rounds: ClassVar[bool] = False
    """Whether its work comes in rounds, which the clock does not cut off."""
    counts_transactions: ClassVar[bool] = False
    """Whether the engine can end a phase with a number of transactions."""
    WHO: ClassVar[str] = "server"  # whose CPU time is measured

    def smallest(self) -> Self:
        """The same work on as few data as it can have."""
        sizes = {key: min(size, getattr(self, key)) for key, size in self.SMALLEST.items()}
        return self.model_copy(update=sizes)

    def client_settings(self) -> Mapping[str, KeyPath]:
        """Path of each key that a factor of scope client may set, by name: CLIENT, and the study's own."""
        return {key.rpartition(".")[2]: tuple(key.split(".")) for key in self.CLIENT.split()}

    @property
    def point_is(self) -> str:
        """Name of the unit of plan.clients."""
        return self.POINT

    @property
    def points_are(self) -> str:
        """Its plural."""
        return self.POINTS

    def counted(self, number: int) -> str:
        """`1 client`, `8 clients`."""
        return f"{number} {self.point_is if number == 1 else self.points_are}"

    @property
    def work_is(self) -> str:
        """Name of the unit of work."""
        return self.WORK

    @property
    def rate_is(self) -> str:
        """Unit of the throughput."""
        return f"{self.WORK}s/s"

    def schema_settings(self) -> Mapping[str, str]:
        """SQL by name, which a factor of scope schema may switch on: executed after the data are loaded."""
        return {}

    @property
    def open_loop(self) -> bool:
        """Whether work arrives at a given rate."""
        return False

    @property
    def lower_is_better(self) -> bool:
        """Whether the score of less is the better one; scores of instances are then averaged, not added."""
        return False

    @property
    def fills(self) -> bool:
        """Whether its statement texts, or what it leaves open, fill caches of the server."""
        return False

    @property
    def thinks(self) -> bool:
        """Whether clients pause between transactions."""
        return False

    @property
    def long_pauses(self) -> str:
        """What takes seconds, longer than a turn, with its verb; '': nothing."""
        return ""

    @property
    def clients_apart(self) -> int:
        """The first so many clients execute other transactions than the rest: they are not compared."""
        return self.background_clients

    @property
    def background_clients(self) -> int:
        """Of those apart: so many execute work that is counted by itself alone, beside the measured work."""
        return 0

    @property
    def engine_threads(self) -> int:
        """Threads of the engine that need a CPU each."""
        return 1

    @property
    def longest_s(self) -> float:
        """The deadline of a transaction in seconds; 0: none."""
        return 0.0

    def point_s(self, clients: int, warm_up_s: float, measure_s: float, round_s: float) -> float | None:
        """Expected length of warm-up and measure at a load point; None: a run shows it.

        round_s: of the subject, for a round of long queries per unit of scale.
        """
        return warm_up_s + measure_s

    def load_keys(self) -> Toml | None:
        """Keys of the load engine's plan: how statements are sent; None: another engine runs the workload."""
        return None

    def orders(self, statements: Sequence[str], clients: int, seed: int) -> list[list[str]]:
        """The order of all statements for each client; []: clients draw transactions."""
        return []

    @property
    def rate_unit(self) -> str:
        """The unit after a rate in a sentence."""
        return "/s"

    def summary(self) -> dict[str, str]:
        """Descriptions for the report, by name."""
        return {}
