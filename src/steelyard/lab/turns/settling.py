"""How long the head of a turn takes to settle, from the turns of the warm-up.

An option that has rested begins slowly: caches hold another server's pages, sleeping processes are spread
anew over the CPUs. How long that lasts depends on the machine and the server, so it is not a setting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

# without a turn to learn from
_SETTLE_MS_MIN = 5.0


def settle_ms(profiles: Mapping[str, Sequence[Sequence[int]]], length_ms: float) -> float:
    """The head to leave out of each turn, at most half of one: that of the option that takes longest.

    profiles: by option and turn, transactions in each of equal parts of a turn of length_ms. The rule is the
    marginal standard error rule of White (1997), "An effective truncation heuristic for bias reduction in
    simulation output", applied to the mean course of an option's turns: it leaves out what makes the
    standard error of the mean of the rest smallest. A first turn follows on the start of a server and is
    left out where there are others.
    """
    found = [_SETTLE_MS_MIN]
    for turns in profiles.values():
        course = np.asarray(turns[1:] or turns, np.float64).reshape(-1, len(turns[0])).mean(0)
        parts = len(course)
        errors = [float(np.var(course[head:])) / (parts - head) for head in range(parts // 2 + 1)]
        found.append(int(np.argmin(errors)) * length_ms / parts)
    return max(found)
