"""Fixtures of all tests; the folder of the session, and the check that it ends as it began."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import settings
from laboratory import Lab, made_lab
from needs import needs
from session_folder import VARIABLE, SessionFolder

from steelyard.monitors import Monitor, Target

# how long an example takes says more of the machine than of the code; tests/slow tries more
settings.register_profile("lab", deadline=None, max_examples=40)
settings.load_profile("lab")

# images of containers often set it: each of the thousands of processes would compile all modules anew
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# threads of numpy and scipy for large matrices spin for a tenth of a second in each process that starts them
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# nohup and background shells leave these ignored, and what is ignored stays so in every process started
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

_FOLDER = pytest.StashKey[SessionFolder]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="keep what the reports of tests/golden say now")


def pytest_configure(config: pytest.Config) -> None:
    if VARIABLE not in os.environ:
        config.stash[_FOLDER] = SessionFolder()


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    yield
    folder = session.config.stash.get(_FOLDER, None)
    if folder is not None and (left := folder.left()):
        sys.stderr.write("\n".join(["left behind by the tests:", *left, ""]))
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config: pytest.Config) -> None:
    if folder := config.stash.get(_FOLDER, None):
        folder.remove()


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        needs(*mark.args)


@pytest.fixture
def lab() -> Iterator[Lab]:
    with made_lab() as made:
        yield made


@pytest.fixture(scope="module")
def lab_of_module() -> Iterator[Lab]:
    with made_lab() as made:
        yield made


@pytest.fixture
def opened() -> Iterator[Any]:
    """Opens monitors, and closes them whatever happens."""
    monitors: list[Monitor] = []

    def open_(monitor: Monitor, target: Target) -> Monitor:
        monitors.append(monitor)
        monitor.open(target)
        return monitor

    yield open_
    for monitor in monitors:
        monitor.close()
