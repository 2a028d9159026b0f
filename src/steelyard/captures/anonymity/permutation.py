"""A permutation of the numbers below a bound that nobody can invert without the secret.

A Feistel network over the next power of four; a result outside is permuted again (cycle walking), which
ends, and keeps it a permutation: Black & Rogaway 2002, "Ciphers with arbitrary finite domains".
"""

from __future__ import annotations

import hashlib
import hmac

_ROUNDS = 8


class Permutation:
    """Of numbers, under a secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def __call__(self, number: int, bound: int, tweak: str) -> int:
        """The place of a number of 0..bound-1. tweak: another one gives another permutation."""
        if bound < 2:
            return number
        half_bits = ((bound - 1).bit_length() + 1) // 2
        found = number
        while True:
            found = self._once(found, half_bits, tweak)
            if found < bound:
                return found

    def _once(self, number: int, half_bits: int, tweak: str) -> int:
        mask = (1 << half_bits) - 1
        left, right = number >> half_bits, number & mask
        for round_ in range(_ROUNDS):
            left, right = right, left ^ (self._word(f"{tweak}\0{half_bits}\0{round_}\0{right}") & mask)
        return left << half_bits | right

    def _word(self, text: str) -> int:
        """512 pseudo-random bits: half of the largest numbers that are permuted at once."""
        return int.from_bytes(hmac.digest(self._secret, text.encode(), hashlib.sha512))
