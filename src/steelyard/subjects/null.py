"""The null subject answers at once: it measures the lab's own cost. It needs no installed server.

With `delay_us` it answers that long after each request: options with two delays have a known ratio.
"""

import json
import subprocess
import sys

from steelyard.errors import InputError
from steelyard.host.cpus.scheduling import pin
from steelyard.host.processes.limits import within
from steelyard.host.processes.process_mark import Mark, with_mark
from steelyard.study.factors import settings_given
from steelyard.study.study import Option, Options, Study
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import NO_SERVER, Bench, Kind, Load, Server, SharedSubject, SubjectFailed
from steelyard.subjects.servers.network import listening

_PORT = 5432
_DELAY = "delay_us"
_DELAY_MAX_US = 10_000_000
_READY_S = 30.0
# a separate program: importing this package would cost seconds of a short study
_SERVE = (
    "import sys; from steelyard import _core;"
    " _core.stub_serve(sys.argv[1], sys.argv[2], lambda: print('ready', flush=True))"
)


def check(study: Study, _options: Options) -> None:
    """Raises InputError for a setting other than a delay."""
    for at, key, value in settings_given(study, "server"):
        if key != _DELAY:
            raise InputError(f'the null subject has no setting "{key}"', f"it has {_DELAY}", at)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _DELAY_MAX_US:
            raise InputError(f"{value!r} is not a whole number from 0 to {_DELAY_MAX_US:,}", at=at)


class _Null(SharedSubject):
    """A process of the lab that speaks a minimum of PostgreSQL's protocol."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._server: subprocess.Popen[str] | None = None
        self._promise = 0
        self._load: Load | None = None

    def start(self, option: Option) -> Load:
        """A stub server with the option's delay."""
        settings = dict(option.server)
        socket = self._bench.folder / f".s.PGSQL.{_PORT}"
        socket.unlink(missing_ok=True)
        network = listening(self._bench.study, _PORT)
        place = f"{network.address}:{network.port}" if network.address else str(socket)
        mark = Mark()
        self._promise = self._bench.guard.stop_marked(mark)
        self._server = subprocess.Popen(
            [sys.executable, "-P", "-c", _SERVE, place, json.dumps(settings)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=with_mark(mark.value),
        )
        pin(self._server.pid, self._bench.placement.server)
        assert self._server.stdout is not None and self._server.stderr is not None
        ready = within(_READY_S, "starting the null server", self._server.stdout.readline)
        if ready.strip() != "ready":
            raise SubjectFailed(f"the null server did not start: {self._server.stderr.read()}")
        server = Server(
            host=network.address or str(self._bench.folder),
            port=network.port,
            user="nobody",
            database="null",
            protocol="postgres",
            pid=self._server.pid,
        )
        delay_us = settings.get(_DELAY, 0)
        answers = f"after {delay_us} µs" if delay_us else "at once"
        facts = {"version": f"null: answers {answers}", "settings": settings}
        self._load = Load(server=server, facts=facts)
        return self._load

    def join(self, option: Option) -> Load:
        """The same for all options of this server."""
        assert self._load is not None
        return self._load

    def stop(self) -> str:
        """Ends the stub; it keeps no log."""
        if self._server is not None:
            self._bench.guard.undo(self._promise)
            self._server.communicate()
            self._server = None
        return ""


KIND = Kind(
    "the null subject",
    make=_Null,
    check=check,
    takes=(StatementWorkload,),
    lacks=NO_SERVER,
    scopes={"client": "the workload's", "server": _DELAY, "host": "this machine's"},
    turns=True,
    listens=True,
    set_up_s=0.5,
)
