"""pgbouncer in front of a PostgreSQL that the lab starts: clients connect to it; its CPU counts separately.

Turned on by the setting `pooler = "pgbouncer"` of scope server; settings `pgbouncer.NAME` go to its section
[pgbouncer] (https://www.pgbouncer.org/config.html).
"""

import shutil
import subprocess
from dataclasses import replace
from functools import cache

import psycopg

from steelyard.errors import InputError, nearest
from steelyard.study.factors import settings_given
from steelyard.study.key_types import KeyPath, Settings, SettingTable
from steelyard.study.study import Option, Options, Study
from steelyard.study.workloads.transactions import TransactionsWorkload
from steelyard.subjects import Bench, Server
from steelyard.subjects.postgres.session import SOCKET, SUPERUSER
from steelyard.subjects.rehearsal import refuse_others
from steelyard.subjects.servers.daemon import Daemon

POOLER = "pooler"
_POOLERS = ("none", "pgbouncer")
PREFIX = "pgbouncer."
_PORT = 6432
# since 1.21 it supports named statements across shared sessions
_NAMED_STATEMENTS_SINCE = (1, 21)
_DEFAULTS: Settings = {
    "pool_mode": "transaction",
    "default_pool_size": 20,
    "max_client_conn": 1000,
    "ignore_startup_parameters": "extra_float_digits",
}


def check_pooler(study: Study, options: Options) -> None:
    """Checks that the pooler is installed and supports each option's statements. Raises InputError."""
    for option in options:
        pooler, settings, _ = divided(option.server)
        at = _where(study, option)
        if pooler not in _POOLERS:
            raise InputError(f'unknown pooler "{pooler}"{nearest(pooler, _POOLERS)}', at=at)
        if pooler == "none":
            if settings:
                raise InputError(
                    f"{PREFIX}{next(iter(settings))} has no effect in {option.label}: it has no pooler",
                    'pooler = "pgbouncer"',
                    at,
                )
            continue
        version = _version(_program(at))
        shared = settings.get("pool_mode", _DEFAULTS["pool_mode"]) != "session"
        if not shared or not isinstance(option.workload, TransactionsWorkload):
            continue
        if option.session:
            raise InputError(
                f"{option.label}: session settings are unreliable where a pooler shares sessions",
                'pgbouncer.pool_mode = "session"',
                at,
            )
        if option.workload.handle in ("named", "per-use", "left") and version < _NAMED_STATEMENTS_SINCE:
            raise InputError(
                f"{option.label}: pgbouncer {version[0]}.{version[1]} shares sessions and does not support"
                f" prepared statements: handle = '{option.workload.handle}' would fail",
                'handle = "none" or "unnamed", or pgbouncer.pool_mode = "session"',
                at,
            )


def divided(settings: Settings) -> tuple[str, SettingTable, SettingTable]:
    """The pooler, its settings, and those of the server behind it."""
    pooler = str(settings.get(POOLER, "none"))
    own = {k.removeprefix(PREFIX): v for k, v in settings.items() if k.startswith(PREFIX)}
    rest = {k: v for k, v in settings.items() if k != POOLER and not k.startswith(PREFIX)}
    return pooler, own, rest


class Pooler:
    """pgbouncer in the folder of the server's socket, as the server's user, on the server's CPUs."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._process = Daemon(bench, "pgbouncer", "pgbouncer.log", SOCKET, _PORT)
        self._pid: int | None = None
        self._sockets, self._network = self._process.folder, self._process.network
        self._address = f"host={self._sockets} port={self._network.port} user={SUPERUSER} dbname=pgbouncer"

    def before(self, server: Server, requested: Settings) -> Server:
        """Starts it unless it runs, reads its settings back; the server for clients. Raises SubjectFailed."""
        settings = {**_DEFAULTS, **requested}
        file = self._bench.folder / "pgbouncer.ini"
        # the last of several values counts: the lab's
        fixed = {
            **settings,
            "listen_port": self._network.port,
            "unix_socket_dir": self._sockets,
            "unix_socket_mode": "0700",
            **self._admission(),
        }
        lines = [
            "[databases]",
            f"* = host={self._sockets} port={server.port} user={server.user}",
            "[pgbouncer]",
            *(f"{name} = {_written(value)}" for name, value in fixed.items()),
        ]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        # independent of the caller's umask: only the server's user can enter the folder
        file.chmod(0o644)
        if self._pid is None:
            self._pid = self._process.start([_program(), file], self._shown, (psycopg.Error,), self._sockets)
        given = {f"{PREFIX}{name}": value for name, value in settings.items()}
        refuse_others("pgbouncer", self._shown(), given, lambda _, value, has: _written(value) == has)
        return replace(
            server,
            port=self._network.port,
            password=self._network.password,
            roles={"pooler": self._pid},
            # a client cannot choose the session that it would inspect
            inspect={},
            turn_end="",
            interruption=lambda: self._process.ended() or server.interruption(),
        )

    def _admission(self) -> SettingTable:
        """Settings for who may connect: the lab by the folder of the socket, hosts of a fleet by password."""
        network = self._network
        if not network.address:
            return {"auth_type": "any"}
        rules = [f"host all {SUPERUSER} {client} scram-sha-256" for client in network.resolved]
        users = f'"{SUPERUSER}" "{network.password}"\n'
        return {
            "listen_addr": network.address,
            "auth_type": "hba",
            "auth_hba_file": self._private("pgbouncer.hba", "\n".join(["local all all trust", *rules, ""])),
            "auth_file": self._private("pgbouncer.users", users),
            "admin_users": SUPERUSER,
        }

    def _private(self, name: str, text: str) -> str:
        """A file beside the socket, where other users of the machine cannot read it."""
        file = self._sockets / name
        file.write_text(text, encoding="utf-8")
        # the caller's umask may keep the server's user out; others cannot enter the folder
        file.chmod(0o644)
        return str(file)

    def stop(self) -> None:
        """Ends it; never raises."""
        self._process.stop()
        self._pid = None

    def _shown(self) -> dict[str, str]:
        with psycopg.connect(self._address, autocommit=True, connect_timeout=2) as connection:
            return {f"{PREFIX}{row[0]}": str(row[1]) for row in connection.execute("show config")}


def _program(at: KeyPath = ()) -> str:
    """The path of pgbouncer. Raises InputError; at: the place in the study that names it."""
    # sbin is not on every user's PATH
    found = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    if found is None:
        raise InputError("pgbouncer is not installed on this machine", "apt-get install pgbouncer", at)
    return found


@cache
def _version(program: str) -> tuple[int, int]:
    # such as: PgBouncer 1.18.0
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    major, minor, *_ = shown.split()[1].split(".")
    return int(major), int(minor)


def _written(value: object) -> str:
    return str(int(value) if isinstance(value, bool) else value)


def _where(study: Study, option: Option) -> KeyPath:
    """The place in the study that names the pooler: the factor that sets it, or the subject's settings."""
    for at, key, _ in settings_given(study, "server"):
        is_ours = key == POOLER or key.startswith(PREFIX)
        if is_ours and at[0] == "factors" and option.levels[at[1]] == at[3]:
            return at[:-1]
    return ("subject", "settings", POOLER)
