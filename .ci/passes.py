"""Two passes over the tests: the second runs those that the first skipped, and a fortieth of the others."""

from __future__ import annotations

import random
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--outcomes", metavar="FILE", help="write a line per test: outcome and name")
    parser.addoption("--skipped-in", metavar="FILE", help="run what a file of --outcomes calls skipped")
    parser.addoption("--fortieth", metavar="SEED", help="and a fortieth of the others, drawn by this seed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    earlier = config.getoption("--skipped-in")
    if earlier is None:
        return
    outcomes = dict(line.split(" ", 1)[::-1] for line in Path(earlier).read_text().splitlines())
    others = sorted(item.nodeid for item in items if outcomes.get(item.nodeid) == "passed")
    again = set(random.Random(config.getoption("--fortieth")).sample(others, len(others) // 40))
    again |= {item.nodeid for item in items if outcomes.get(item.nodeid) != "passed"}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in again])
    items[:] = [item for item in items if item.nodeid in again]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    place = config.getoption("--outcomes")
    if place is None:
        return
    lines = [
        f"{outcome} {report.nodeid}"
        for outcome in ("passed", "skipped", "failed", "error")
        for report in terminalreporter.stats.get(outcome, [])
    ]
    Path(place).write_text("\n".join(lines) + "\n")
