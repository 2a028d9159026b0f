"""One fleet for all tests that do it no harm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fleet_hosts import LOADS, Fleet, ahead, fleet
from namespaces import permitted


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """The clock of load2 is 200 ms ahead, load3 is 5 ms further away in each direction."""
    if not permitted():
        pytest.skip("network namespaces need root")
    folder = tmp_path_factory.mktemp("fleet")
    with fleet(folder, {"load2": ahead(200_000_000)}, {"load3": 5}) as made:
        yield made
        assert not any(map(made.engines, LOADS))
