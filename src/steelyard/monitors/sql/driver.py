"""Queries by a JDBC driver: one process of Java for all monitors of a run, apart from that of the load.

It reads requests as lines of JSON and answers each with one line; it ends when its input ends.
"""

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from steelyard.monitors import LIMIT_S, ROWS_MAX, QueryFailed, Rows, Session, Unavailable

# Java has to start, and the driver to connect; the lab waits 10 s for a monitor to open
_CONNECT_S = 9.0
# drivers count their limits in whole seconds, and some begin late
_GRACE_S = 1.0
_Message = Mapping[str, Any]
_PART_BYTES = 1 << 16


class DriverProcess:
    """The driver of a load's URL. command: Java with the engine; plan: classes, URL and properties.

    cpus: for the process; empty: all.
    """

    def __init__(self, command: Sequence[str], plan: _Message, cpus: frozenset[int]) -> None:
        self._command = [*command, "query"]
        self._plan = plan
        self._cpus = cpus
        self._process: subprocess.Popen[bytes] | None = None
        self._users = 0
        self._number = 0
        self._read = b""

    def session(self) -> Session:
        """Connects, if no monitor has yet. Raises Unavailable."""
        if self._process is None:
            self._start()
        self._users += 1
        return _Shared(self)

    def query(self, sql: str) -> Rows:
        """Executes one query. Raises QueryFailed, Unavailable."""
        self._number += 1
        request = {"number": self._number, "sql": sql, "limit_s": LIMIT_S, "rows": ROWS_MAX + 1}
        answer = self._answer(request, LIMIT_S + _GRACE_S)
        if answer is None:
            raise QueryFailed(f"it took longer than {LIMIT_S:g} s")
        if answer["event"] == "lost":
            raise Unavailable(f"the server stopped answering: {answer['cause']}")
        if answer["event"] == "refused":
            raise QueryFailed(answer["cause"])
        return Rows(answer["columns"], answer["rows"])

    def release(self) -> None:
        """Ends the process when the last monitor has ended."""
        self._users -= 1
        if self._users == 0:
            self._stop()

    def _start(self) -> None:
        # the thread's CPUs are those of its children: the JVM places its threads before it could be moved
        usual = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self._cpus or usual)
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                bufsize=0, start_new_session=True,
            )  # fmt: skip
        finally:
            os.sched_setaffinity(0, usual)
        try:
            answer = self._answer({"number": 0, "jdbc": dict(self._plan)}, _CONNECT_S)
            if answer is None or answer["event"] != "connected":
                cause = answer["cause"] if answer else f"no answer within {_CONNECT_S:g} s"
                raise Unavailable(f"the driver cannot connect: {cause}")
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        process, self._process, self._read = self._process, None, b""
        assert process and process.stdin and process.stdout
        process.stdin.close()
        process.kill()
        process.wait()
        process.stdout.close()

    def _answer(self, request: _Message, limit_s: float) -> _Message | None:
        """The answer to a request; None: there was none in time. Raises Unavailable when Java has ended."""
        assert self._process is not None and self._process.stdin and self._process.stdout
        until_s = time.monotonic() + limit_s
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
        while True:
            line, newline, rest = self._read.partition(b"\n")
            if newline:
                self._read = rest
                answer = json.loads(line)
                # answers to earlier requests, which came too late
                if answer["number"] == request["number"]:
                    return answer
                continue
            if not select.select([self._process.stdout], (), (), max(0.0, until_s - time.monotonic()))[0]:
                return None
            part = os.read(self._process.stdout.fileno(), _PART_BYTES)
            if not part:
                raise Unavailable("the process of Java with the driver has ended")
            self._read += part


class _Shared:
    def __init__(self, driver: DriverProcess) -> None:
        self._driver = driver
        self._open = True

    def query(self, sql: str) -> Rows:
        return self._driver.query(sql)

    def close(self) -> None:
        if self._open:
            self._open = False
            self._driver.release()
