"""The main of the lab's process on the server's host: it prepares the study there, and makes its runs.

It is what `steelyard run` is on a single machine, without the bundle: that stays with the lab, which sends
its questions and receives the runs. Messages are pairs: what it is, and its value.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from steelyard.fleet.connection import Connection
from steelyard.fleet.frames import Frames
from steelyard.host.processes.guard import Guard
from steelyard.host.processes.parent import end_with
from steelyard.host.processes.signals import Interrupts
from steelyard.lab.runner import StudyFailed
from steelyard.study.errors import InputError
from steelyard.study.files import StudyFiles
from steelyard.workflow.bench import temporary_folder
from steelyard.workflow.fleet import engines_of
from steelyard.workflow.missing import check_temporary_folder
from steelyard.workflow.prepare import PreparedStudy
from steelyard.workflow.site import Here


class _Progress:
    """Tells the lab how far a run is."""

    def __init__(self, lab: Frames) -> None:
        self._lab = lab

    def run_started(self, label: str, block: int, slot: int) -> None:
        self._lab.send(("run_started", (label, block, slot)))

    def tick(self, tps: float) -> None:
        self._lab.send(("tick", (tps,)))

    def turned(self, share: float) -> None:
        self._lab.send(("turned", (share,)))


def serve(lab: Frames) -> None:
    """Answers the lab until it has no more questions."""
    connection: Connection = lab.receive()
    with Guard() as guard, temporary_folder(guard) as folder:
        site: Here | None = None
        while True:
            try:
                question, value = lab.receive()
            except EOFError:
                return
            try:
                if question == "prepare":
                    site = _site(lab, folder, connection, value)
                    answer = site.prepared
                elif question == "runs":
                    assert site is not None
                    answer = _run(lab, site)
                else:
                    answer = getattr(site, question)()
            except (InputError, StudyFailed) as error:
                lab.send(("error", error))
            else:
                lab.send(("answer", answer))


def _site(lab: Frames, folder: Path, connection: Connection, study: Mapping[str, Any]) -> Here:
    """The study's, with the files that it names; their contents follow, part by part."""
    check_temporary_folder()
    kept: dict[str, Path] = {}
    for number, name in enumerate(study["files"]):
        kept[name] = place = folder / f"{number}{Path(name).suffix}"
        with place.open("wb") as file:
            while part := lab.receive():
                file.write(part)
    own = Path(study["folder"])
    files = StudyFiles(own if own.is_dir() else folder, kept)
    prepared = PreparedStudy.of(study["text"], study["origin"], files)
    if prepared.boots:
        raise InputError("kernels and command lines: run steelyard on the server's machine itself")
    return Here(prepared, lambda prepared: engines_of(prepared, lambda _: connection))


def _run(lab: Frames, site: Here) -> None:
    """Makes the runs that the lab requests, block by block."""

    def admit(label: str, facts: Mapping[str, Any]) -> None:
        lab.send(("admit", (label, facts)))
        if (refused := lab.receive()) is not None:
            raise refused

    with site.runs(_Progress(lab), admit) as runs:
        lab.send(("ready", None))
        while (request := lab.receive()) is not None:
            for run in runs(*request):
                lab.send(("run", run))
            lab.send(("block over", None))


def main() -> None:
    """The child of the worker: see fleet/lab_process.py."""
    if not end_with(int(sys.argv[1])):
        return
    # what libraries print must not come between the messages
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(KeyboardInterrupt, BrokenPipeError), Interrupts().raised():
        serve(Frames(sys.stdin.buffer, outgoing))


if __name__ == "__main__":
    main()
