"""What all runs of a study share: the study, its subjects, the machine, and who follows the progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from steelyard.host.cpus.placement import Placement
from steelyard.lab.engines.place import Place, here
from steelyard.lab.machine.host_settings import Host
from steelyard.monitors import declared
from steelyard.study.study import Study
from steelyard.subjects import Kind, Subject
from steelyard.workloads import Work


class Progress(Protocol):
    """Shows the progress of a study."""

    def run_started(self, label: str, block: int, slot: int) -> None:
        """A run begins, or one of its turns."""
        ...

    def tick(self, tps: float) -> None:
        """A second has passed under load, or a turn."""
        ...

    def turned(self, share: float) -> None:
        """A turn, or a warm-up before turns, is over; share: of the block's load that is done, 0 to 1."""
        ...


@dataclass(frozen=True)
class Laboratory:
    """State that all runs of a study share.

    works: by option. subjects: one for each server that is up at the same time; in_turns: whether the
    options of a block take turns. admit: called before the load with an option's label and the facts of its
    server; raises InputError when the study cannot include that server. place: where the engines run.
    """

    study: Study
    works: Mapping[str, Work]
    kind: Kind
    subjects: Sequence[Subject]
    in_turns: bool
    placement: Placement
    host: Host
    progress: Progress
    admit: Callable[[str, Mapping[str, Any]], None]
    place: Place = here

    @property
    def monitor_rates_hz(self) -> Mapping[str, float]:
        """The monitors of every run, with their rates."""
        if self.study.monitors is not None:
            return self.study.monitors
        return {name: declared(name).default_hz for name in self.kind.monitors}
