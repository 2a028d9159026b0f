"""MDB ::cpuinfo, ::memstat, ::thread (Solaris). Read too: ::threadlist, priority histograms of threads."""

from steelyard.recordings.cells import number
from steelyard.recordings.lines import Found, Lines, NotMine, Now, Words, has, known, reading, rule

_CPUINFO = r"\s*ID +ADDR +FLG +NRUN +BSPL +PRI +RNRN +KRNRN +SWITCH +THREAD +PROC\s*"
_THREADS = r"\s*ADDR +STATE +FLG +PFLG +SFLG +PRI +EPRI\b.*"
_MEMORY = r"\s*Page Summary +Pages +(?P<unit>MB|Bytes) +%Tot\s*"


def _thread(now: Now, found: Found) -> None:
    if len(found[0].split()) != now.numbers["columns"]:
        raise NotMine
    now.counts[f"threads {found[1]} at priority", float(found[2])] += 1


def _pages(now: Now, found: Found) -> None:
    if not now.words["unit"]:
        raise NotMine
    now.report.sample(0, found[1], "pages", float(found[2]))
    if now.words["unit"] == "MB":
        now.report.sample(0, found[1], "mb", number(found[3]))


def _close(now: Now) -> None:
    for (state, priority), count in sorted(now.counts.items()):
        now.report.sample(0, f"{state} {priority:.0f}", "threads", count)


def _table(now: Now, found: Found) -> None:
    now.numbers["columns"] = len(found[0].split())
    now.words = Words(found.groupdict(""))


sniff = has(rf"^(?:{_CPUINFO}|{_THREADS}|{_MEMORY})$")
# dispatch queues, threads by state and priority, memory by use
read = Lines(
    (
        rule(rf"{_CPUINFO}|{_MEMORY}", _table),
        # of another capture
        rule(_THREADS, _table, once="threads"),
        reading(
            r"\s*(?P<of>\d+) +[0-9a-f]+ +[0-9a-f]+ +(?P<runnable_threads>\d+) +\d+ +(?P<priority>-?\d+)"
            r" +\w+ +\w+ +t-\d+ +[0-9a-f]+(?: +\S.*?)?\s*",
            "cpu {of}",
        ),
        reading(
            r"[\s|]*(?:READY|EXISTS|ENABLE)?\s*(?P<priority>\d{1,3})"
            r" +(?P<thread>[0-9a-f]{6,}) +(?P<of>[A-Za-z_(]\S*)\s*",
            "waiting {of} {thread}",
        ),
        rule(r"\s*[0-9a-f]{4,} +(\S+) +[0-9a-f]+ +[0-9a-f]+ +[0-9a-f]+ +(-?\d+) +-?\d+\b.*", _thread),
        rule(r"([A-Z]\S*(?: \S+)*) {2,}(\d+) +(\d[\d.]*[KMG]?)(?: +(\d+)%)?\s*", _pages),
        known(
            r"[\s|+>-]*(?:\||RUNNING <--\+|READY|EXISTS|ENABLE|PIL THREAD|PRI THREAD.*)[\s|+]*"
            r"|> *(?:::|$)|[|\s]*$"
        ),
    ),
    _close,
)
