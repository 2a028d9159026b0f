"""The workload of a recording: what others ran, in their terms. Steelyard cannot run it."""

from typing import Annotated, Literal, Self

from pydantic import model_validator

from steelyard.study.key_types import Form, Label, Strict
from steelyard.study.workloads.workload import Workload


class RecordedFigure(Strict):
    """One number that the source gives for each run."""

    unit: str
    """as the source gives it; 1: a number of things"""
    better: Literal["higher", "lower", "neither"] = "neither"


class Claim(Strict):
    """A figure that the source gives. It agrees if its tables give it to one unit of its last decimal."""

    says: str
    """the statement of the source, without its figure"""
    published: Annotated[
        str, Form(r"^-?\d{1,15}(\.\d{1,9})?$", "invalid figure: digits and a decimal point alone")
    ]
    """the figure as the source gives it, as text: its digits are its precision"""
    unit: str = ""
    qualifier: Literal["", "about", "up to"] = ""
    """as the source has it; up to: a smaller figure agrees too"""
    sql: str = ""
    """query that gives the figure, and in a second column a remark"""
    why: str = ""
    """why the figure cannot be computed, where there is no query"""


class Answer(Strict):
    """What the tables answer. Queries read each table as published.NAME, with `_` for `-`.

    Functions: figure(x), three digits; whole(x), a count; change(a, b), by how many per cent a is more
    or less than b; more(a, b), the same with `more` or `less`; many(a, b), with `more` or `fewer`.
    """

    follows: str
    """query that gives the sentence that follows from the figures"""
    left_open: str
    """query that gives the sentence about all that does not follow, and why"""
    settle: str
    """the measurement that would settle it"""
    twin: str = ""
    """name of the built-in study that measures it"""


class Answered(Strict):
    """What a recording says of its own tables."""

    tables: list[str] = []
    """CSV files that the bundle keeps, for queries"""
    answer: Answer | None = None
    """what follows from them; needs tables"""
    claims: list[Claim] = []
    """figures of the source that are computed again"""

    @model_validator(mode="after")
    def _has_tables(self) -> Self:
        if (self.answer or any(claim.sql for claim in self.claims)) and not self.tables:
            raise ValueError("answer and claims need tables: the CSV files that their queries read")
        return self


class PublishedWorkload(Workload, Answered):
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

    figures: dict[str, RecordedFigure] = {}
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
