"""perf script. Each sample with its stack, folded. Of several events the first is the profile."""

import re

from steelyard.recordings.lines import Found, Lines, Now, Words, has, known, rule

_SAMPLE = r"\s*(\S.*?)\s+(\d+)(?:/\d+)?\s+(?:\[\d+\]\s+)?([\d.]+):\s+(?:\d+\s+)?(\S+?):"
_FRAME = r"\s+([0-9a-f]+) (\S.*?)(?:\+0x[0-9a-f]+)? \((\S.*)\)\s*"
# by address and file: a module may stand as `[xfs]`; addresses from the upper half are the kernel's
_KERNEL = re.compile(
    r"ffff[0-9a-f]{12} (?!\[vsyscall|\[unknown).*"
    r"|.* (?:\[[\w.]*kernel.*|(?:.*/)?vmlinux[^/]*|.*\.ko(?:\.\w+)?)"
)
_STACKS_MAX = 200_000
# an idle machine is sampled more often
_PAUSE_S = 10.0

# a sample with a frame, mostly below it
sniff = has(rf"^{_SAMPLE}(?:.*\n)?{_FRAME}$")


def _end(now: Now) -> None:
    if now.words["event"] == now.report.facts.get("event") and "command" in now.words:
        now.counts[now.words["command"] + now.words["stack"], 0] += 1


def _event(now: Now, found: Found) -> None:
    _end(now)
    event, n, at_s = found[4], now.numbers, float(found[3])
    now.words = Words(command=found[1].replace(";", ":"), event=event)
    if now.report.facts.setdefault("event", event) != event:
        n[f"samples of {event}"] += 1
    gap_s = at_s - n.get("last", at_s)
    n["paused_s"] += gap_s * (gap_s > _PAUSE_S)
    # of several CPUs: not in order
    n |= {"first": min(at_s, n.get("first", at_s)), "last": max(at_s, n.get("last", at_s))}
    # without a stack its function stands in the same line
    if frame := re.fullmatch(_FRAME, found[5]):
        _frame(now, frame)


def _frame(now: Now, found: Found) -> None:
    kernel = _KERNEL.fullmatch(f"{found[1]} {found[3]}")
    frame = found[2].replace(";", ":") + ("_[k]" if kernel else "")
    # outermost function first
    now.words["stack"] = f";{frame}" + now.words["stack"]


def _close(now: Now) -> None:
    _end(now)
    n, report = now.numbers, now.report
    for (stack, _), count in now.counts.most_common(_STACKS_MAX):
        report.stack(stack, count)
    if left_out := [f"{count:,.0f} {name}" for name, count in n.items() if name.startswith("samples of ")]:
        text = f"several events: the profile is of {report.facts['event']}; left out: {', '.join(left_out)}"
        report.notice("event-left-out", text)
    report.seconds = n["last"] - n["first"] - n["paused_s"] or None
    if n["paused_s"]:
        text = f"no sample in {n['paused_s']:g} s, as between two captures: that time does not count"
        report.notice("intervals-missing", text)


read = Lines((rule(_FRAME, _frame), rule(rf"{_SAMPLE}(|\s.*)", _event), known(r"\s*$")), _close)
