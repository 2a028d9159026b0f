"""lockstat (Solaris, illumos, FreeBSD). A table per kind of event; times in ns where the column says nsec."""

from steelyard.recordings.lines import Found, Lines, NotMine, Now, Words, has, rule, word

_SECTION = r"(?P<event>\S.*?): (\d+) events in (N) seconds \(.*\)"


def _section(now: Now, found: Found) -> None:
    if now.report.seconds not in (None, float(found[3])):
        # of another run: rows below are of none
        now.words = Words()
        raise ValueError
    now.words = Words(event=found[1])
    now.report.seconds = float(found[3])
    now.report.sample(0, found[1], "events", float(found[2]))


def _row(now: Now, found: Found) -> None:
    """Spins and blocks become rows of `locks`, all else readings."""
    # of rates (-R) no heading is known
    event, unit = now.words["event"], now.words["unit"]
    count, each = int(found[1]), int(found[2] or 0)
    if not event or "unit" not in now.words or bool(unit) != bool(found[2]):
        raise NotMine
    if unit == "nsec" and "hold" not in event:
        # lockstat prints means alone, no longest wait
        now.report.lock(found[3], event, found[4], contended=count, wait_total_ns=count * each)
        return
    entity = f"{event}: {found[3]} at {found[4]}"
    now.report.sample(0, entity, "events", float(count))
    if unit:
        now.report.sample(0, entity, f"mean_{unit.replace('nsec', 'ns')}", float(each))


sniff = has(rf"^{_SECTION}$", "indv")
read = Lines(
    (
        rule(_SECTION, _section, once="{event}"),
        word(r"\s*Count\s+indv\s+cuml\s+rcnt\s+(?P<unit>\S+)?\s*Lock\s+Caller\s*"),
        rule(r"\s*(\d+)\s+N%\s+N%\s+\d+\.\d+\s+(?:(\d+)\s+)?(?!\d+\s)(\S.*?)\s+(\S+)\s*", _row),
    )
)
