"""Scheduling of the sessions that work in the background, set when they are connected."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from steelyard.host.cpus.scheduling import NotTaken
from steelyard.host.processes.limits import within
from steelyard.lab.engines.registry import LoadFailed
from steelyard.lab.machine.host_settings import Host
from steelyard.study.host_settings import SESSIONS, Schedule, host_settings
from steelyard.study.plan import Option
from steelyard.subjects import Load, SubjectFailed
from steelyard.workloads import Scripted, Work

_FOUND_S = 5.0
_LOOK_S = 0.02
_ANSWER_S = 30.0


class BackgroundSessions:
    """phase() with each event of the engine. Raises SubjectFailed for a refused setting, LoadFailed."""

    def __init__(self, host: Host, option: Option, work: Work, load: Load) -> None:
        self._host = host
        self._option = option
        self._load = load
        self._requested = host_settings(option.host).schedules.get(SESSIONS)
        self._text, self._count = _background(work)
        self._threads: set[int] = set()

    def phase(self, event: Mapping[str, Any]) -> None:
        """Schedules the sessions before the measure phase."""
        if self._requested and event["phase"] in ("warm-up", "measure") and not self._threads:
            self._schedule(self._requested)

    def _schedule(self, requested: Schedule) -> None:
        server = self._load.server
        if server is None or server.sessions is None:
            raise SubjectFailed(
                f"option {self._option.label}: {SESSIONS}. settings need a server of this machine whose"
                " sessions are threads or processes of their own"
            )
        limit_s = time.monotonic() + _FOUND_S
        sessions, text = server.sessions, self._text
        while len(self._threads) < self._count and time.monotonic() < limit_s:
            self._threads |= set(within(_ANSWER_S, "reading the sessions", lambda: sessions(text)))
            time.sleep(_LOOK_S)
        if len(self._threads) != self._count:
            raise LoadFailed(f"{len(self._threads)} of {self._count} reporting sessions were found")
        try:
            for thread in self._threads:
                self._host.schedule(SESSIONS, thread, requested)
        except NotTaken as misfit:
            raise SubjectFailed(
                f"option {self._option.label}: the host did not take {SESSIONS}.{misfit}"
            ) from None


def _background(work: Work) -> tuple[str, int]:
    """The text that the sessions execute, and how many there are."""
    for name, one in work.transactions.items():
        if isinstance(one, Scripted) and one.clients and not one.takes:
            text = next(s.sql for key, s in work.statements.items() if key.startswith(f"{name}: "))
            return text, one.clients
    return "", 0
