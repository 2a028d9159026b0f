"""Fixtures of all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from laboratory import Lab, made_lab

# how long an example takes says more of the machine than of the code
settings.register_profile("lab", deadline=None)
settings.load_profile("lab")

# images of containers often set it: each of the thousands of processes would compile all modules anew
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# threads of numpy and scipy for large matrices spin for a tenth of a second in each process that starts them
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# nohup and background shells leave these ignored, and what is ignored stays so in every process started
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def lab() -> Iterator[Lab]:
    with made_lab() as made:
        yield made


@pytest.fixture(scope="module")
def lab_of_module() -> Iterator[Lab]:
    with made_lab() as made:
        yield made
