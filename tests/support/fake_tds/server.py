"""The server: a thread for each connection, and the counts of what came in."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import contextmanager

from fake_tds import replies
from fake_tds.requests import CANCEL, LOGIN, Kind, Login, Malformed, Request, Value, login, message, requests

PASSWORD = "opensesame"
# a peer that says nothing for so long is given up
_SILENCE_S = 30


class FakeTds(socketserver.ThreadingTCPServer):
    """counts: by application, kind and text; malformed: what could not be understood."""

    allow_reuse_address = True
    # threads are joined at the end, so that one that hangs is seen
    daemon_threads = False

    def __init__(self, refused: Container[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.refused = refused
        self.logins: Counter[str] = Counter()
        self.counts: Counter[tuple[str, Kind, str]] = Counter()
        self.malformed: list[str] = []
        self.lock = threading.Lock()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def counted(self, application: str, word: str = "") -> Counter[Kind]:
        """Requests of an application by kind, whose text holds `word`."""
        found: Counter[Kind] = Counter()
        with self.lock:
            for (who, kind, text), count in self.counts.items():
                if who == application and word in text:
                    found[kind] += count
        return found


@contextmanager
def fake_tds(refused: Container[str] = ()) -> Iterator[FakeTds]:
    """A server at a port of 127.0.0.1. refused: applications whose prepare it refuses, as ASE may."""
    with FakeTds(refused) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Session(socketserver.BaseRequestHandler):
    server: FakeTds
    request: socket.socket

    def setup(self) -> None:
        self.request.settimeout(_SILENCE_S)
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.database = replies.FIRST_DATABASE
        self.prepared: dict[str, str] = {}
        self.own: Counter[tuple[str, Kind, str]] = Counter()

    def handle(self) -> None:
        try:
            kind, body = message(self.receive)
            if kind != LOGIN:
                raise Malformed(f"a packet of type {kind} before the login")
            who = login(body)
            if who.password != PASSWORD:
                self.send(replies.no_welcome())
                return
            self.send(replies.welcome())
            self.served(who)
        except Malformed as error:
            with self.server.lock:
                self.server.malformed.append(str(error))
        except (EOFError, OSError):
            pass  # it has gone

    def finish(self) -> None:
        with self.server.lock:
            self.server.counts.update(self.own)

    def served(self, who: Login) -> None:
        with self.server.lock:
            self.server.logins[who.application] += 1
        while True:
            kind, body = message(self.receive)
            if kind == CANCEL:
                continue
            for one in requests(kind, body):
                answer = self.answer(one, who.application not in self.server.refused)
                text = one.text or self.prepared.get(one.name, "")
                if one.kind == "deallocate":
                    del self.prepared[one.name]
                self.own[who.application, one.kind, text] += 1
                self.send(answer)
                if one.kind == "logout":
                    return

    def answer(self, one: Request, prepares: bool) -> bytes:
        """Raises Malformed for a statement that is not prepared."""
        if one.kind == "prepare":
            if not prepares:
                return replies.error(2782, 16, "No statement is prepared here.") + replies.done(failed=True)
            self.prepared[one.name] = one.text
            return replies.prepared(one.name, one.text.count("?"), _value(one.text, ()))
        if one.kind in ("execute", "deallocate") and one.name not in self.prepared:
            raise Malformed(f"{one.kind} of {one.name}, which is not prepared")
        if one.kind == "deallocate":
            return replies.dynamic(one.name) + replies.done()
        if one.kind == "execute":
            value = _value(self.prepared[one.name], one.values)
            return replies.done(1) if value is None else replies.rows_of_prepared(value)
        if one.kind in ("language", "language with parameters"):
            if one.text.startswith("use "):
                before, self.database = self.database, one.text.removeprefix("use ")
                return replies.database(self.database, before)
            value = _value(one.text, one.values)
            return replies.done(1) if value is None else replies.rows(value)
        return replies.done()

    def send(self, tokens: bytes) -> None:
        self.request.sendall(replies.packets(tokens))

    def receive(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            part = self.request.recv(count - len(found))
            if not part:
                raise EOFError
            found += part
        return found


def _value(sql: str, values: tuple[Value, ...]) -> int | str | None:
    """What a statement returns: its first parameter, a text where it asks for a note, None: no rows."""
    if not sql.lower().lstrip().startswith("select"):
        return None
    if "note" in sql:
        return "a note"
    first = values[0] if values else None
    return first if isinstance(first, int) else 1
