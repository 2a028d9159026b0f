"""Files and reports with their place in the study: option, block, load point."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from steelyard.recordings.report import Facts, Report, earliest

Point = tuple[int | None, list[Report]]


@dataclass(frozen=True)
class Filed:
    """One file. group: files of one group are of the same runs, such as those of a folder.

    block, clients, began, seconds: where a schedule or a folder says so. choices: what a schedule says of it.
    """

    path: Path
    option: str
    group: str
    block: int | None = None
    clients: int | None = None
    began: datetime | None = None
    seconds: float | None = None
    choices: Facts = field(default_factory=Facts)


@dataclass
class PlacedRun:
    """One run: its reports by load point; others, of the whole run. files: where they come from."""

    option: str
    block: int
    points: list[Point]
    others: list[Report]

    @property
    def reports(self) -> list[Report]:
        """All of them."""
        return [*self._of_points, *self.others]

    @property
    def _of_points(self) -> list[Report]:
        return [report for _, found in self.points for report in found]

    @property
    def began(self) -> datetime | None:
        """When its load points began, else its other reports; None where no report tells it."""
        of_points = earliest(report.began for report in self._of_points)
        return of_points or earliest(report.began for report in self.others)

    @property
    def seconds(self) -> float | None:
        """The sum of its load points; of a run without work the longest report."""
        of_points = [max((r.seconds or 0 for r in found), default=0) for _, found in self.points]
        others = max((report.seconds or 0 for report in self.others), default=0)
        return sum(of_points) or others or None
