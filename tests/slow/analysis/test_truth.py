"""The rates of benches/truth.py, seen again in fewer studies: a change in the analysis must not move them."""

from __future__ import annotations

import json

import pytest

from truth import KEPT, Cell, cells, counted, wilson

STUDIES = 40
# a chance in ten thousand to fail in each of some 60 rates, with seeds that never change
Z = 3.89

CELLS = {cell.name: cell for cell in cells()}
SEEN_AGAIN = (
    "2 equal options, 6 blocks",
    "4 equal options, 6 blocks",
    "2 x 2 x 2, no effect, run SD 1 %, 6 blocks",
    "2 x 3, one factor 1.05, 6 blocks",
    "4 options, one of 5 % SD, 6 blocks",
    "2 options, one of 0.97, 6 blocks",
    "2 options, one of 1.03, 6 blocks",
    "4 options, one of 1.05, 6 blocks",
    "2 options, half of the faster's transactions fail, 6 blocks",
    "2 options, one of 3 % SD (lognormal), the other .5 %, 6 blocks",
)
# too few blocks show its pauses, and it is beyond what matters: docs/explanation/method.md says so
BEYOND = "one of 10 % SD (lognormal)"
RATES: dict[str, dict[str, float]] = json.loads(KEPT.read_text())
# of all studies of a cell; a nominal 5 % and what the rate's own error allows
HIGHEST = {
    "false winner": 0.05,
    "an equal option called different": 0.06,
    "a true ratio outside its interval": 0.06,
    "a true share outside its interval": 0.08,
    "number of blocks unknown": 0.0,
    "word and interval disagree": 0.0,
    "p99 a reason, its comparison inconclusive": 0.0,
    "drift-over-study": 0.02,
}


@pytest.mark.parametrize("name", SEEN_AGAIN)
def test_the_rates_of_right_and_wrong_are_those_that_were_measured(name: str) -> None:
    hits = counted(CELLS[name], range(1, STUDIES + 1))
    for question, known in RATES[name].items():
        low, high = wilson(hits[question], STUDIES, Z)
        assert low - 1e-9 <= known <= high + 1e-9, (question, hits[question] / STUDIES, known)


@pytest.mark.parametrize(
    "cell", [cell for cell in CELLS.values() if BEYOND not in cell.name], ids=lambda cell: cell.name
)
def test_no_rate_of_errors_is_beyond_what_is_promised(cell: Cell) -> None:
    for question, rate in RATES[cell.name].items():
        if question in HIGHEST:
            least, _ = wilson(round(rate * 200), 200)
            assert least <= HIGHEST[question], (question, rate)
        if question == "'what matters most'" and "no effect" in cell.name:
            assert wilson(round(rate * 200), 200)[0] <= 0.06
