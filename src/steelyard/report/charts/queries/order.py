"""What both charts of queries share: the order and height of rows, the title of a panel."""

from __future__ import annotations

from steelyard import quantities as fmt
from steelyard.analysis.judgement.results import Judgement
from steelyard.report.about.about import About

ROW_PX = 19


def streams(clients: int, about: About) -> str:
    """`1 stream`: the title of a panel."""
    return fmt.count(clients, about.point_is, about.points_are)


def longest_first(judgement: Judgement, clients: int) -> list[str]:
    """The queries from the longest to the shortest, under the baseline."""
    mine = [r for r in judgement.queries if r.clients == clients and r.option == judgement.baseline]
    return [row.query for row in sorted(mine, key=lambda row: -row.ns)]
