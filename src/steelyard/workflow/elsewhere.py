"""The server's machine as another host of the fleet: a process there answers the lab."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

from steelyard.lab.engines.registry import LoadFailed
from steelyard.lab.finished_run import Run
from steelyard.lab.laboratory import Progress
from steelyard.lab.runner import StudyFailed
from steelyard.report.terminal.plan import Expected
from steelyard.study.errors import InputError
from steelyard.study.files import StudyFiles, named_files
from steelyard.study.load_study import plan_study
from steelyard.study.plan import Slot
from steelyard.study.source import toml_of
from steelyard.workflow.attempts import Attempt
from steelyard.workflow.fleet import of_fleet
from steelyard.workflow.prepare import PreparedStudy
from steelyard.workflow.site import Admit, Here, Runs, Site

_PART_BYTES = 16 << 20


class Remote(Protocol):
    """The process there: see fleet/remote.py."""

    host: str

    def send(self, message: object) -> None:
        """Sends an object. Raises LoadFailed, which names the host."""
        ...

    def receive(self) -> Any:
        """The next object from there. Raises LoadFailed, which names the host."""
        ...

    def end(self) -> None:
        """Makes it undo what it has done, and waits for its end."""
        ...


@contextmanager
def site_of(
    text: str, origin: str, files: StudyFiles | None = None, folder: Path | None = None
) -> Generator[Site]:
    """The machine of the study's server, while the context lasts.

    files: those that the study names; default: those beside origin. folder: that of the study file; default:
    of the files. Raises InputError.
    """
    files = files or StudyFiles.beside(origin)
    folder = folder or files.folder
    fleet = plan_study(text, origin, files=files)[0].fleet if "fleet" in toml_of(text, origin) else None
    if fleet is None or fleet.server is None:
        yield Here(replace(PreparedStudy.of(text, origin, files), folder=folder))
        return
    connection = of_fleet("connection").Connection.of(fleet, folder / fleet.folder)
    with of_fleet("remote").process_on(fleet, fleet.server, connection) as remote:
        yield Elsewhere(remote, text, origin, files, folder)


class Elsewhere:
    """The host of the server. Its folder and the files of the study are the lab's own."""

    def __init__(self, remote: Remote, text: str, origin: str, files: StudyFiles, folder: Path) -> None:
        """Prepares the study there. Raises InputError."""
        self._remote = remote
        names = {name for _, name in named_files(toml_of(text, origin))}
        named = {name: place for name in sorted(names) if (place := files.place(name)).is_file()}
        study = {"text": text, "origin": origin, "folder": str(folder), "files": list(named)}
        with _lost_is(InputError):
            remote.send(("prepare", study))
            for place in named.values():
                with place.open("rb") as file:
                    while part := file.read(_PART_BYTES):
                        remote.send(part)
                remote.send(b"")
            prepared: PreparedStudy = self._answer()
        self.prepared = replace(prepared, files=named, folder=folder)

    def expected(self) -> Expected:
        """What to expect of the study on that host."""
        return self._ask("expected")

    def missing(self) -> Sequence[InputError]:
        """What is missing there."""
        return self._ask("missing")

    def environment(self) -> dict[str, Any]:
        """Facts of that host; its name."""
        return {**self._ask("environment"), "server host": {"name": self._remote.host}}

    @contextmanager
    def runs(self, progress: Progress, admit: Admit) -> Generator[Runs]:
        """Runs of that host: see `Here.runs`. A run that is lost with the host is void, and names it."""
        handlers: dict[str, Callable[..., None]] = {
            "run_started": progress.run_started,
            "tick": progress.tick,
            "turned": progress.turned,
            "admit": partial(self._admit, admit),
        }
        with _lost_is(StudyFailed):
            self._remote.send(("runs", None))
            self._next("ready", handlers)
        try:
            yield lambda slots, attempt, redo: self._block(handlers, slots, attempt, redo)
        except BaseException:
            self._remote.end()
            raise
        with _lost_is(StudyFailed):
            self._remote.send(None)
            self._answer()

    def _block(
        self, handlers: dict[str, Callable[..., None]], slots: Sequence[Slot], attempt: Attempt, redo: int
    ) -> Iterator[Run]:
        began_s, slot = time.monotonic(), slots[0]
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")

        def run_started(label: str, block: int, number: int) -> None:
            nonlocal slot
            slot = next(one for one in slots if one.option.label == label)
            handlers["run_started"](label, block, number)

        number = attempt.number
        try:
            self._remote.send((slots, attempt, redo))
            while (run := self._next("run", {**handlers, "run_started": run_started})) is not None:
                number = run.attempt + (run.status != "done")
                yield run
        except LoadFailed as lost:
            yield Run(slot, number, "void", str(lost), started_at, time.monotonic() - began_s)
            raise StudyFailed(str(lost)) from None

    def _next(self, wanted: str, handlers: dict[str, Callable[..., None]]) -> Any:
        """The value of the next message of this kind; None when the block is over."""
        while True:
            kind, value = self._remote.receive()
            if kind == "error":
                raise cast("Exception", value)
            if kind == wanted or kind == "block over":
                return value
            handlers[kind](*value)

    def _admit(self, admit: Admit, label: str, facts: Any) -> None:
        refused = None
        try:
            admit(label, facts)
        except InputError as error:
            refused = error
        self._remote.send(refused)

    def _ask(self, question: str) -> Any:
        with _lost_is(InputError):
            self._remote.send((question, None))
            return self._answer()

    def _answer(self) -> Any:
        return self._next("answer", {})


@contextmanager
def _lost_is(kind: type[InputError] | type[StudyFailed]) -> Generator[None]:
    try:
        yield
    except LoadFailed as lost:
        raise kind(str(lost)) from None
