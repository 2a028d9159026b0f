"""Last names of customers: a number from 0 to 999 in three syllables (clause 4.3.2.3)."""

from __future__ import annotations

_SYLLABLES = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
LAST_NAMES = tuple(
    _SYLLABLES[number // 100] + _SYLLABLES[number // 10 % 10] + _SYLLABLES[number % 10]
    for number in range(1000)
)
