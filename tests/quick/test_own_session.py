"""Sessions of the lab's own with a server whose sessions have limits."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from steelyard.subjects.postgres.session import own_dsn, own_session
from steelyard.subjects.servers.identity import Identity


class Session:
    """Its first statements are cancelled, as by a limit of 1 ms on a busy machine."""

    info = SimpleNamespace(host="/x", port=5432)

    def __init__(self, cancelled: int) -> None:
        self.cancelled = cancelled
        self.closed = False

    def execute(self, sql: str | bytes) -> Session:
        if isinstance(sql, bytes) and self.cancelled:
            self.cancelled -= 1
            raise psycopg.errors.QueryCanceled("canceling statement due to user request")
        return self

    def fetchone(self) -> tuple[str, str]:
        return "/x/data", "nonce"

    def close(self) -> None:
        self.closed = True


class Found(Identity):
    def __init__(self) -> None: ...

    def check(self, *_: object) -> None: ...


def test_a_limit_that_cancels_its_own_removal_is_removed_by_the_next_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dsn = own_dsn(Path("/x/.s.PGSQL.5432"), "postgres", 18)
    for cancelled, opened in ((0, True), (3, True), (1_000, False)):
        session = Session(cancelled)
        monkeypatch.setattr(psycopg, "connect", lambda *_, session=session, **__: session)
        if opened:
            assert own_session(dsn, Found()) is session and not session.closed  # type: ignore[comparison-overlap]
        else:
            with pytest.raises(psycopg.errors.QueryCanceled):
                own_session(dsn, Found())
            assert session.closed
