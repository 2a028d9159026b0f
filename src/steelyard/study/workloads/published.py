"""The workload of a recording: what others ran, in their terms. Steelyard cannot run it."""

from typing import Literal

from pydantic import Field

from steelyard.study.key_types import Label, Strict
from steelyard.study.workloads.workload import Workload


class RecordedFigure(Strict):
    """One number that the source gives for each run."""

    unit: str
    """as the source gives it; 1: a number of things"""
    better: Literal["higher", "lower", "neither"] = "neither"


class PublishedWorkload(Workload):
    """What the throughput of a recording counts, and the names for it."""

    kind: Literal["published"]
    unit: Label = "transactions/s"
    """of the throughput: lookups/s, bops, index"""
    work: Label = "transaction"
    """name of one unit of work"""
    client: Label = "client"
    """name of one unit of plan.clients: JVM, process"""
    clients: Label = "clients"
    """its plural: JVMs, processes"""

    figures: dict[str, RecordedFigure] = Field(default_factory=dict[str, RecordedFigure])
    """numbers of each run, by name; p50, p95 and p99 in a unit of time are latencies"""
    main_figure: str | None = None
    """the figure that the study is about, where no work was counted"""

    @property
    def point_is(self) -> str:
        """The source's own name."""
        return self.client

    @property
    def points_are(self) -> str:
        """The source's own name."""
        return self.clients

    @property
    def work_is(self) -> str:
        """The source's own name."""
        return self.work

    @property
    def rate_is(self) -> str:
        """The source's own unit."""
        return self.unit
