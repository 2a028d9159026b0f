"""The workload of a recording: what others ran, in their terms. Steelyard cannot run it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from steelyard.study.key_types import Label
from steelyard.study.workloads.workload import Workload


class PublishedWorkload(Workload):
    """What the throughput of a recording counts, and the names for it."""

    kind: Literal["published"]
    unit: Label = Field(default="transactions/s", description="of the throughput: lookups/s, bops, index")
    work: Label = Field(default="transaction", description="name of one unit of work")
    client: Label = Field(default="client", description="name of one unit of plan.clients: JVM, process")
    clients: Label = Field(default="clients", description="its plural: JVMs, processes")

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
