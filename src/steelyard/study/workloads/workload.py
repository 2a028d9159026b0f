"""What every workload says of itself, whatever it does.

A key that has no effect is an error, not a comment: whoever wrote it expects an effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from steelyard.study.key_types import Strict

KeyPath = tuple[str, ...]


class Workload(Strict):
    """Base of the workloads. CLIENT_SETTINGS: what a factor of scope client may set, and where."""

    CLIENT_SETTINGS: ClassVar[Mapping[str, KeyPath]] = {}
    POINT: ClassVar[str] = "client"  # what plan.clients counts
    POINTS: ClassVar[str] = "clients"
    WORK: ClassVar[str] = "transaction"  # what is counted as done
    WHO: ClassVar[str] = "server"  # who spends the CPU that is weighed

    def client_settings(self) -> Mapping[str, KeyPath]:
        """The same, with names that the study itself brings."""
        return self.CLIENT_SETTINGS

    @property
    def point_is(self) -> str:
        """One of what plan.clients counts."""
        return self.POINT

    @property
    def points_are(self) -> str:
        """Many of them."""
        return self.POINTS

    def counted(self, number: int) -> str:
        """`1 client`, `8 clients`."""
        return f"{number} {self.point_is if number == 1 else self.points_are}"

    @property
    def work_is(self) -> str:
        """One of what is counted as done."""
        return self.WORK

    @property
    def rate_is(self) -> str:
        """Unit of the throughput."""
        return f"{self.WORK}s/s"

    def idle(self) -> Iterator[tuple[KeyPath, str]]:
        """Keys without effect beside the others, each with the reason."""
        yield from ()

    @property
    def open_loop(self) -> bool:
        """Whether work arrives by the clock, at a rate of its own."""
        return False

    @property
    def simulated(self) -> bool:
        """Whether the plan's seconds are simulated."""
        return False

    @property
    def lower_is_better(self) -> bool:
        """Whether the score of less is the better one; scores of instances are then averaged, not added."""
        return False

    @property
    def steady(self) -> bool:
        """Whether each second of a run holds the same work, so that a rate over time means something."""
        return True

    @property
    def counts_transactions(self) -> bool:
        """Whether the engine can end a phase with a number of transactions."""
        return False

    @property
    def thinks(self) -> bool:
        """Whether clients pause without wanting a CPU."""
        return False

    @property
    def engine_threads(self) -> int:
        """Threads of the engine's process that want a CPU."""
        return 1

    @property
    def longest_s(self) -> float:
        """The longest that one transaction may take before it fails; 0: none has a deadline of its own."""
        return 0.0

    def load_keys(self) -> dict[str, Any] | None:
        """Keys of the load engine's plan: how statements are sent; None: another engine does the work."""
        return None

    def orders(self, statements: Sequence[str], clients: int, seed: int) -> list[list[str]]:
        """Of each client, the order in which it executes all statements; none: it draws transactions."""
        return []

    @property
    def rate_unit(self) -> str:
        """What follows the number of the work done, in running text."""
        return "/s"

    def summary(self) -> dict[str, str]:
        """What the report says of it, by name."""
        return {}
