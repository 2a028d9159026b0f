"""A query of a monitor by SQL, read once."""

from __future__ import annotations

from steelyard.monitors import Target
from steelyard.monitors.sql.monitor import QueryMonitor
from steelyard.monitors.sql.queries import Query


def problem(name: str, query: Query, target: Target) -> str:
    """Why it cannot be read; '' where it can."""
    monitor = QueryMonitor(name, query)
    monitor.open(target)
    try:
        monitor.read()
        return monitor.failure
    finally:
        monitor.close()
