"""What a winner loses in a crash, by settings that trade durability for speed (manuals of the servers)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.study.study import Option

# values with which commits are lost in a crash, and those with which data are damaged
_COMMITS = {
    "synchronous_commit": ("off",),
    "innodb_flush_log_at_trx_commit": ("off", "2"),
    "synchronous": ("1", "normal"),
    "appendfsync": ("off", "everysec"),
    "appendonly": ("off",),
}
_DATA = {
    "fsync": ("off",),
    "full_page_writes": ("off",),
    "innodb_doublewrite": ("off",),
    "synchronous": ("off",),
    "journal_mode": ("off", "memory"),
}
# of settings that lose commits where nobody sets them
_UNSET = {"appendfsync": "everysec", "appendonly": "off"}


def lost_in_a_crash(winner: Option, other: Option) -> str:
    """`OFF loses committed transactions in a crash: synchronous_commit = off.`; '' where both do, or none."""
    mine, theirs = ({**option.server, **option.session} for option in (winner, other))
    loses = "loses committed transactions in a crash"
    for settings, what in ((_DATA, "may have damaged data after a crash"), (_COMMITS, loses)):
        for name, values in settings.items():
            value = _text(mine.get(name))
            if value in values and _text(theirs.get(name, _UNSET.get(name))) not in values:
                return f"{winner.label} {what}: {name} = {value}."
    return ""


def _text(value: object) -> str:
    """As servers write it: true is on, false and 0 are off, and so are their unique prefixes."""
    text = str(value).strip().lower()
    if text and (text == "0" or any(word.startswith(text) for word in ("off", "false", "no"))):
        return "off"
    return "on" if text == "true" else text


def at_risk(options: Sequence[Option]) -> Iterator[str]:
    """A sentence for each way in which an option loses in a crash what another keeps."""
    names = {**_DATA, **_COMMITS}
    distinct: dict[tuple[str, ...], Option] = {}
    for option in reversed(options):
        given = {**option.server, **option.session}
        distinct[tuple(_text(given.get(name)) for name in names)] = option
    for option in reversed(distinct.values()):
        yield from dict.fromkeys(lost_in_a_crash(option, other) for other in distinct.values())
