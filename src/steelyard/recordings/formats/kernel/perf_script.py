"""`perf script`: each sample with its stack, folded; in constant memory but for the different stacks."""

from __future__ import annotations

import itertools
import re
from collections import Counter

from steelyard.recordings.report import Report
from steelyard.recordings.source import Source

TITLE = "perf script"

_EVENT = re.compile(r"(\S.*?)\s+(\d+)(?:/\d+)?\s+(?:\[\d+\]\s+)?([\d.]+):\s+(?:\d+\s+)?(\S+?):\s*(.*)")
_FRAME = re.compile(r"\s+([0-9a-f]+) (\S.*?)(?:\+0x[0-9a-f]+)? \((\S.*)\)\s*")
_STACKS_MAX = 200_000


def sniff(head: str) -> bool:
    """Whether a sample is followed by a frame."""
    lines = itertools.pairwise(head.split("\n"))
    return any(_EVENT.fullmatch(a.strip()) and _FRAME.fullmatch(b) for a, b in lines)


def read(source: Source) -> list[Report]:
    """One report: samples by stack, outermost function first."""
    report = Report(source.place(source.first))
    stacks: Counter[tuple[str, str]] = Counter()
    times: list[float] = []
    command, frames = "", list[str]()

    def flush() -> None:
        if command:
            stacks["idle" if command == "swapper" else "", ";".join([command, *reversed(frames)])] += 1

    for number, text in source.lines():
        if frame := _FRAME.fullmatch(text):
            if not command:
                source.skip(number, text)
                continue
            kernel = frame[3].startswith("[kernel") or frame[3].endswith(".ko")
            frames.append(frame[2].replace(";", ":") + ("_[k]" if kernel else ""))
        elif event := _EVENT.fullmatch(text.strip()):
            flush()
            command, frames = event[1].replace(";", ":"), []
            # of several CPUs: not in order
            at = float(event[3])
            times = [min(times[0], at), max(times[1], at)] if times else [at, at]
            report.facts["event"] = event[4]
        elif text.strip():
            source.skip(number, text)
    flush()
    for (role, stack), count in stacks.most_common(_STACKS_MAX):
        report.row("profile", role=role, stack=stack, samples=count)
    if times:
        report.seconds = times[1] - times[0] or None
    return [report]
