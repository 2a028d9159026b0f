"""The first line of a verdict: one sentence that is read at a glance."""

from __future__ import annotations

WORDS_MAX = 20
_ROOM = WORDS_MAX - 1  # for `Leaning:`


def fitting(*sentences: str) -> str:
    """The first of the sentences that is short enough, the fullest given first; else the last one."""
    return next((sentence for sentence in sentences if len(sentence.split()) <= _ROOM), sentences[-1])


def joined(*sentences: str) -> str:
    """Sentences on one line, without those that are empty."""
    return " ".join(sentence for sentence in sentences if sentence)


def capitalised(text: str) -> str:
    """The text as the beginning of a sentence; an abbreviation such as CPU stays as it is."""
    return text[:1].upper() + text[1:]
