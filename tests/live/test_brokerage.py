"""The brokerage on a real server: mix, feedback of the market, consistency, damage that makes a run void."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from brokerage_on_server import (
    STUDY,
    conditions_hold_in_the_data_as_loaded,
    the_market_follows_the_orders,
)
from loaded_server import Running, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running("postgres", STUDY.format(kind="postgres")) as found:
        yield found


def test_all_seven_conditions_hold_in_the_data_as_loaded(server: Running) -> None:
    conditions_hold_in_the_data_as_loaded(server)


def test_the_market_follows_the_orders_and_the_data_stay_consistent(server: Running) -> None:
    the_market_follows_the_orders(server)
