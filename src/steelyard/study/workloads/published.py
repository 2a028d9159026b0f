"""The workload of a recording: what others ran, in their words. Nothing here can run it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from steelyard.study.workloads.workload import Workload

_Word = Annotated[str, Field(pattern=r"^[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]{0,23}$")]


class PublishedWorkload(Workload):
    """What the throughput of a recording counts, and the words for it."""

    kind: Literal["published"]
    unit: _Word = Field(default="transactions/s", description="of the throughput: lookups/s, bops, index")
    work: _Word = Field(default="transaction", description="one of what was done")
    client: _Word = Field(default="client", description="one of what plan.clients counts: JVM, process")
    clients: _Word = Field(default="clients", description="many of them: JVMs, processes")

    @property
    def point_is(self) -> str:
        """As the source calls it."""
        return self.client

    @property
    def points_are(self) -> str:
        """As the source calls them."""
        return self.clients

    @property
    def work_is(self) -> str:
        """As the source calls it."""
        return self.work

    @property
    def rate_is(self) -> str:
        """As the source gives it."""
        return self.unit
