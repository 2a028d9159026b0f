"""The null subject answers at once: it measures the lab's own cost. It needs no installed server."""

from __future__ import annotations

import subprocess
import sys

from steelyard.host.cpus.placement import pin
from steelyard.host.processes.limits import within
from steelyard.host.processes.process_mark import Mark, end_marked, with_mark
from steelyard.study.plan import Option
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import Bench, Kind, Load, Server, SubjectFailed

_PORT = 5432
_READY_S = 30.0
# a separate program: importing this package would cost seconds of a short study
_SERVE = (
    "import sys; from steelyard import _core;"
    " _core.stub_serve(sys.argv[1], '{}', lambda: print('ready', flush=True))"
)


class Null:
    """A process of the lab that speaks a minimum of PostgreSQL's protocol."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._server: subprocess.Popen[str] | None = None
        self._mark = Mark()
        self._promise = 0
        self._load: Load | None = None

    def start(self, option: Option) -> Load:
        """A stub server, the same for every option."""
        socket = self._bench.folder / f".s.PGSQL.{_PORT}"
        socket.unlink(missing_ok=True)
        self._mark = Mark()
        self._promise = self._bench.guard.stop_marked(self._mark)
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVE, str(socket)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=with_mark(self._mark.value),
        )
        pin(self._server.pid, self._bench.placement.server)
        assert self._server.stdout is not None and self._server.stderr is not None
        ready = within(_READY_S, "starting the null server", self._server.stdout.readline)
        if ready.strip() != "ready":
            raise SubjectFailed(f"the null server did not start: {self._server.stderr.read()}")
        server = Server(
            host=str(self._bench.folder),
            port=_PORT,
            user="nobody",
            database="null",
            protocol="postgres",
            pid=self._server.pid,
        )
        self._load = Load(server=server, facts={"version": "null: answers at once", "settings": {}})
        return self._load

    def join(self, option: Option) -> Load:
        """The same for every option."""
        assert self._load is not None
        return self._load

    def reset(self) -> None:
        """Nothing to do: there is no data."""

    def stop(self) -> str:
        """Ends the stub; it keeps no log."""
        if self._server is not None:
            end_marked(self._mark)
            self._server.wait()
            for stream in (self._server.stdout, self._server.stderr):
                if stream is not None:
                    stream.close()
            self._server = None
            self._bench.guard.forget(self._promise)
        return ""


KIND = Kind(
    "the null subject",
    make=Null,
    check=lambda _study, _options: None,
    takes=(StatementWorkload,),
    lacks=dict.fromkeys(("settings", "session", "bindir", "dsn"), "leave it out"),
    scopes={"client": "the workload's", "host": "this machine's"},
    turns=True,
    set_up_s=0.5,
)
