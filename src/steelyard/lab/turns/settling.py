"""What a turn needs: a head that settles, and a length that holds several transactions of each client.

An option that has rested begins slowly: caches hold another server's pages, sleeping processes are spread
anew over the CPUs. How long that lasts depends on the machine and the server, so it is learnt from turns of
the warm-up. The clients of a turn also begin in step. Where transactions take equally long, what begins
within a turn is then no matter of chance but the same in every turn, up to one transaction per client too
many or too few. So the measured part of a turn begins at a random point of a transaction: over turns its mean
count is exact. Where some transactions take far longer than others, a turn begins without a client in one of
those: the head also lasts until most clients may have met one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

# without a turn to learn from
_SETTLE_MS_MIN = 5.0
_TRANSACTIONS_MIN = 5


@dataclass
class Course:
    """The warm-up's turns of one option, of length_ms each.

    profiles: of each turn, transactions that began in each of equal parts of it. sum_ms, squares_ms2: of all
    transactions, latencies and their squares.
    """

    length_ms: float
    profiles: list[Sequence[int]] = field(default_factory=list[Sequence[int]])
    sum_ms: float = 0.0
    squares_ms2: float = 0.0

    @property
    def under_way_ms(self) -> float:
        """Mean length of the transaction that a client is in at a random moment.

        Its time is shared out by length, so long transactions weigh more: sum of squares by sum (Cox 1962,
        "Renewal Theory", section 5.2). The length itself where all are equally long.
        """
        return self.squares_ms2 / self.sum_ms if self.sum_ms else 0.0

    @property
    def settle_ms(self) -> float:
        """The head to leave out, at most half of a turn.

        By the marginal standard error rule of White (1997), "An effective truncation heuristic for bias
        reduction in simulation output", applied to the mean course of the turns: it leaves out what makes
        the standard error of the mean of the rest smallest. A first turn follows on the start of a server
        and is left out where there are others.
        """
        if not self.profiles:
            return _SETTLE_MS_MIN
        course = np.asarray(self.profiles[1:] or self.profiles, np.float64).mean(0)
        parts = len(course)
        errors = [float(np.var(course[head:])) / (parts - head) for head in range(parts // 2 + 1)]
        return max(_SETTLE_MS_MIN, int(np.argmin(errors)) * self.length_ms / parts)

    def head_ms(self, settle_ms: float, chance: Random) -> float:
        """What is left out of one turn: what settles, and a random part of a transaction."""
        return max(settle_ms, self.under_way_ms / 2) + chance.random() * self.under_way_ms


def turn_ms(courses: Iterable[Course], planned_ms: float, measure_ms: float) -> float:
    """How long turns are: as planned, longer for long transactions, at most half of what is measured."""
    under_way_ms = max(course.under_way_ms for course in courses)
    return max(planned_ms, min(_TRANSACTIONS_MIN * under_way_ms, measure_ms / 2))
