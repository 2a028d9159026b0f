"""What a verdict decides, and the words of an answer, before both are put together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from steelyard.analysis.judgement.verdict import Answer

WORDS_MAX = 20
_ROOM = WORDS_MAX - 1  # for `Leaning:`


@dataclass(frozen=True)
class Decision:
    """The outcome, and whom it names. leaning: what is decided is not proven.

    compared: the options that the headline is about; explained: those of which it says what their codes
    stand for; doubts: a sentence each, before all reasons.
    """

    outcome: Answer
    winner: str | None = None
    ties: tuple[str, ...] = ()
    compared: Sequence[str] = ()
    explained: Sequence[str] = ()
    doubts: Sequence[str] = ()
    leaning: bool = False


class Words(NamedTuple):
    """The answer in words; see Verdict."""

    headline: str
    interval: str = ""
    consequence: str = ""
    reasons: Iterable[str] = ()


def fitting(*sentences: str) -> str:
    """The first of the sentences that is short enough, the fullest given first; else the last one."""
    return next((sentence for sentence in sentences if len(sentence.split()) <= _ROOM), sentences[-1])


def joined(*sentences: str) -> str:
    """Sentences on one line, without those that are empty."""
    return " ".join(filter(None, sentences))


def capitalised(text: str) -> str:
    """The text as the beginning of a sentence; an abbreviation such as CPU stays as it is."""
    return text[:1].upper() + text[1:]
