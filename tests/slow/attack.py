"""The standing attack: every text setting of every program, with values that harm. `make attack` runs it.

Names come from the servers themselves. Twice for each program: with confinement alone, as if the lists of
settings did not exist; and with the lists alone, as on a kernel without Landlock. Ten settings per start,
halved where a start harms. Nothing outside the lab's folder may change, listen or stay.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import machine_state
import psycopg
import pymysql
import pytest
from bystander import Bystander, digests
from laboratory import Lab, small_study
from mariadb_server import mariadb
from needs import needs
from servers import Server as Postgres
from servers import pooled, postgres
from valkey import Valkey

from small import shared_memory
from steelyard import _core
from steelyard.errors import InputError
from steelyard.host.processes.limits import TimedOut
from steelyard.study.files import StudyFiles
from steelyard.study.setting_names import SettingNames, folded, names_of
from steelyard.subjects import Bench, Subject, SubjectFailed, kind_of, started
from steelyard.subjects.mariadb.data_directory import find_server as mariadbd
from steelyard.subjects.postgres.binaries import find_bindir, installed_bindirs, reachable
from steelyard.subjects.postgres.pooler import PREFIX
from steelyard.subjects.servers import daemon
from steelyard.subjects.servers.templates import copy_files
from steelyard.subjects.valkey.server import find_server
from steelyard.workflow.prepare import PreparedStudy
from steelyard.workflow.runs import bench_of

TEN = 10
_SET_UP_S = {"postgres": 3, "mariadb": 30, "valkey": 5}
PORT = "33911"
GALERA = {"wsrep_provider", "wsrep_data_home_dir", "wsrep_notify_cmd", "wsrep_sst_method"}
HARMFUL = ("where", "who", "runs", "out", "plain", "folder")

Settings = Mapping[str, str]


@dataclass
class World:
    """What is not the lab's: a folder that all may write, a stopped cluster, sockets, processes."""

    folder: Path
    own: Bystander
    counts: dict[str, int] = field(default_factory=dict[str, int])
    lab: str = ""

    @classmethod
    def made(cls, folder: Path) -> World:
        folder.chmod(0o711)
        trap = folder / "trap"
        trap.mkdir()
        own = Bystander.made(folder / "own")
        (trap / "link").symlink_to(own.data)
        (trap / "file").write_text("mine")
        (trap / "file").chmod(0o666)
        trap.chmod(0o777)
        return cls(folder, own)

    @property
    def values(self) -> Sequence[str]:
        """Values that harm where a setting takes them."""
        trap = self.folder / "trap"
        new, link, touch = trap / "new", trap / "link", f"touch {trap}/ran"
        return (str(new), str(link), "0.0.0.0", str(self.own.data), touch, f"--dir {new}")

    def state(self) -> Mapping[str, Any]:
        """All of it, by name."""
        return {
            # the kernel sets the time of a change; the contents are compared at the end
            "files": {str(place): place.lstat().st_ctime_ns for place in self.folder.rglob("*")},
            "listening": _listening(),
            "processes": self._processes(),
            "memory": shared_memory(),
        }

    def changed(self, before: Mapping[str, Any]) -> list[str]:
        """What is no longer as before: of files anything, of the rest what came."""
        after = self.state()
        came = [name for name in before if name != "files" and after[name] - before[name]]
        return [*came, *(["files"] if after["files"] != before["files"] else [])]

    def _processes(self) -> set[str]:
        """Processes that work in the folder of the lab, or name it or a folder of this world."""
        found: set[str] = set()
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                text = f"{words} {(entry / 'cwd').readlink()}"
                if (self.lab and self.lab in text) or str(self.folder) in text:
                    found.add(f"{entry.name} {words[:80]}")
        return found

    def count(self, name: str, number: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + number

    def __str__(self) -> str:
        return ", ".join(f"{name}: {number}" for name, number in self.counts.items())


def _listening() -> set[str]:
    """Addresses and ports of every address that is listened on, but for this machine's own addresses."""
    tables = [Path(f"/proc/net/{kind}").read_text() for kind in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table.splitlines()]
    # others of this machine may test their servers on the loopback address
    return {row[1] for row in rows if row[3] == "0A" and not row[1].startswith("0100007F")}


@dataclass
class Attack:
    """Starts of one subject with settings that harm."""

    world: World
    bench: Bench
    subject: Subject
    takes: Callable[[str, str], bool]
    prefix: str = ""
    fixed: Settings = field(default_factory=dict[str, str])
    harms: list[str] = field(default_factory=list[str])

    def all(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Each setting with each value, ten settings a start."""
        self.world.count("settings", len({name for name, _ in pairs}))
        self.world.count("values", len(pairs))
        pairs = [(name, value) for name, value in pairs if self._taken(name, value)]
        for value in dict.fromkeys(value for _, value in pairs):
            names = [name for name, other in pairs if other == value]
            for at in range(0, len(names), TEN):
                self.start({f"{self.prefix}{name}": value for name in names[at : at + TEN]})

    def _taken(self, name: str, value: str) -> bool:
        """Whether the program itself takes the value, as far as it says without a start."""
        taken = self.takes(name, value)
        if not taken:
            self.world.count("refused by the program")
        return taken

    def start(self, settings: Settings) -> None:
        """One start; one for each setting where it fails, two of its halves where it harms."""
        before = self.world.state()
        self.world.count("starts")
        failed = self._failed(settings)
        changed = self.world.changed(before)
        if changed:
            # what others of this machine began and ended meanwhile
            time.sleep(1)
            changed = self.world.changed(before)
        if len(settings) == 1:
            self.world.count("refused by the program" if failed else "started")
            if changed:
                self.harms.append(f"{settings} changed {', '.join(changed)}")
        elif failed:
            # one that the program refuses, or that hangs, hides the others
            for name, value in settings.items():
                self.start({name: value})
        elif changed:
            pairs = list(settings.items())
            half = len(pairs) // 2
            self.start(dict(pairs[:half]))
            self.start(dict(pairs[half:]))
        else:
            self.world.count("started", len(settings))

    def _failed(self, settings: Settings) -> bool:
        option = self.bench.options[0]
        try:
            started(self.subject, replace(option, server={**option.server, **self.fixed, **settings}))
        except SubjectFailed as error:
            if "listens where" in str(error) or "that Steelyard started" in str(error):
                self.harms.append(f"{settings}: {error}")
            return True
        except (ValueError, InputError, TimedOut, OSError, _core.LoadError, psycopg.Error, pymysql.Error):
            return True
        finally:
            self.subject.stop()
        return False


@contextmanager
def attack_on(
    world: World, subject: str, takes: Callable[[str, str], bool], more: str = ""
) -> Iterator[Attack]:
    with tempfile.TemporaryDirectory(prefix="sy-attack-") as folder:
        Path(folder).chmod(0o711)
        study = small_study(Path(folder), subject=subject)
        text = study.read_text().replace("rows = 1000", f"rows = 10\n{more}")
        # some values let a server admit sessions and answer nothing
        text = text.replace("[plan]", f"[plan]\nset_up_limit_s = {_SET_UP_S[subject]}")
        if subject == "valkey":
            text = text.replace("rows = 10\n", 'kind = "key-value"\nkeys = 10\n').replace("handle]", "hz]")
            text = text.replace('"client"', '"server"').replace(
                'simple = "none", named = "named"', "A = 9, B = 10"
            )
        prepared = PreparedStudy.of(text, str(study), StudyFiles.beside(str(study)))
        with bench_of(prepared) as bench:
            world.lab = str(bench.folder)
            yield Attack(world, bench, kind_of(prepared.study).make(bench), takes)


# --- names, from the servers themselves


def postgres_names() -> Iterable[str]:
    with postgres() as server, server.connect() as connection:
        connection.execute("set client_encoding = 'UTF8'")
        rows = connection.execute("select name from pg_settings where vartype = 'string'").fetchall()
    return {name.decode() if isinstance(name, bytes) else str(name) for (name,) in rows}


def mariadb_names() -> Iterable[str]:
    needs("MariaDB")
    sql = "select group_concat(lower(variable_name)) from information_schema.system_variables"
    with mariadb("--group-concat-max-len=1000000") as server:
        return str(server.ask(f"{sql} where variable_type = 'VARCHAR'")).split(",")


def valkey_names() -> Iterable[str]:
    with tempfile.TemporaryDirectory(prefix="sy-") as folder:
        command = [find_server(None), "--port", "0", "--unixsocket", f"{folder}/s", "--dir", folder]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            try:
                wait(Path(f"{folder}/s").exists, "the server listens")
                with Valkey(unix_socket_path=f"{folder}/s", decode_responses=True) as client:
                    shown: dict[str, str] = client.config_get()
            finally:
                server.kill()
    return [name for name, value in shown.items() if value not in ("yes", "no") and not value.isdigit()]


def pgbouncer_names() -> Iterable[str]:
    with postgres() as server, pooled(server, admin_users="postgres") as port:
        address = f"host=127.0.0.1 port={port} user=postgres dbname=pgbouncer"
        with psycopg.connect(address, autocommit=True) as connection:
            rows = connection.execute("show config").fetchall()
    return [str(name) for name, value, *_ in rows if not str(value).lstrip("-").isdigit()]


def said_by(command: Sequence[str | Path]) -> str:
    """The errors of a program that starts nothing; servers refuse root."""
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, **user
    ).stderr


def postgres_takes(name: str, value: str) -> bool:
    """The program reads its command line before its data."""
    program = reachable(find_bindir(None)) / "postgres"
    return "parameter" not in said_by([program, "-D", "/nonexistent", f"--{name}={value}"])


def mariadb_takes(name: str, value: str) -> bool:
    option = f"--{name.replace('_', '-')}={value}"
    words = ["--no-defaults", option, "--datadir=/nonexistent", "--help", "--verbose"]
    return "[ERROR]" not in said_by([mariadbd(None), *words])


def all_taken(_name: str, _value: str) -> bool:
    """A program that says only at its start what it takes."""
    return True


# subject, prefix of its names, names, what it takes
PROGRAMS: Mapping[str, tuple[str, str, Callable[[], Iterable[str]], Callable[..., None]]] = {
    "postgres": ("postgres", "", postgres_names, postgres_takes),
    "mariadb": ("mariadb", "", mariadb_names, mariadb_takes),
    "valkey": ("valkey", "", valkey_names, all_taken),
    "pgbouncer": ("postgres", PREFIX, pgbouncer_names, all_taken),
}


@pytest.fixture
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory(prefix="attacked-") as folder:
        yield World.made(Path(folder))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("by", ["confinement alone", "lists alone"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_setting_harms(
    program: str, by: str, world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    subject, prefix, found, takes = PROGRAMS[program]
    lists = names_of(program)
    texts, ours = set(found()), {name for name, kind in lists.classes.items() if kind in HARMFUL}
    # Galera's: without its library they are texts that nobody reads
    ours = {name for name in ours if not name.startswith("wsrep_") or name in GALERA}
    texts = {name for name in texts if not name.startswith("wsrep_") or name in GALERA}
    if program == "valkey":
        ours = {name.replace("_", "-") for name in ours}
    # a start of the pooler is one of its server too
    values = world.values[::2] if prefix else world.values
    pairs = [(name, value) for name in sorted(texts | ours) for value in values]
    pairs += [(name, value) for name in sorted(ours) for value in (PORT, "on")]
    # a name that holds a second setting
    forms = ("{} = /x #",) if prefix else ("{}=/x, y", "{} /x")
    pairs += [(form.format(name), "5") for name in sorted(ours) for form in forms]
    contents = digests(world.folder)
    machine = machine_state.state()
    # some values let a server start and admit nobody: PostgreSQL starts in a fifth of a second
    monkeypatch.setattr(daemon, "_START_S", 1.0 if subject == "postgres" else 3.0)
    if by == "confinement alone":
        if not _core.confinement():
            pytest.skip("the kernel has no Landlock")
        monkeypatch.setattr(SettingNames, "reason", lambda *_: "")
    else:
        monkeypatch.setattr(_core, "confinement", lambda: "")
        allowed = [
            (n, v) for n, v in pairs if not lists.reason(n, v) and lists.classes.get(folded(n)) != "folder"
        ]
        world.count("refused by the lists", len(pairs) - len(allowed))
        pairs = allowed
    with attack_on(world, subject, takes, 'handle = "none"' if prefix else "") as attack:
        attack.prefix = prefix
        attack.fixed = {"pooler": "pgbouncer"} if prefix else {}
        attack.all(pairs)
    changed = machine_state.changes(machine, machine_state.state())
    with capsys.disabled():
        print(f"\n{program}, {by}: {world}; harms: {len(attack.harms)}", *attack.harms, sep="\n  ")
    assert not attack.harms
    assert not changed
    assert digests(world.folder) == contents
    assert world.counts["starts"] > 0


# --- copies of the user's data, and a second lab


def copy_study(lab: Lab, subject: str, directory: Path, database: str, settings: str = "") -> Path:
    """A study on a copy of a data directory, of a table `mine`."""
    text = small_study(lab.folder, subject=subject, blocks=1).read_text()
    workload = (
        f'[workload]\nkind = "sql"\ndata_directory = "{directory}"\ndata_database = "{database}"\n'
        'statements.one.sql = "select count(*) from mine"'
    )
    text = text.replace("[workload]\nrows = 1000", workload)
    (lab.folder / "small.toml").write_text(text.replace("[workload]", f"{settings}\n[workload]"))
    return lab.folder / "small.toml"


def test_a_copy_with_a_subscription_leaves_the_publishers_slot_alone(lab: Lab) -> None:
    build = installed_bindirs()[0] if installed_bindirs() else None
    with postgres(build, wal_level="logical") as publisher:
        at = f"host={publisher.folder} port={publisher.port} user=postgres dbname=postgres"
        with publisher.connect() as connection:
            connection.execute("create table mine (id int primary key)")
            connection.execute("create publication p for table mine")
        with postgres(build) as subscriber:
            with subscriber.connect() as connection:
                connection.execute("create table mine (id int primary key)")
                connection.execute(f"create subscription s connection '{at}' publication p".encode())
            wait(lambda: publisher.ask("select active from pg_replication_slots"), "the slot is active")
            kept = lab.folder / "kept"
            stop(subscriber)
            copy_files(subscriber.folder / "data", kept)
        wait(lambda: publisher.ask("select not active from pg_replication_slots"), "the slot is free")
        with publisher.connect() as connection:
            connection.execute("insert into mine select generate_series(1, 100)")
        slot = "select active::text || confirmed_flush_lsn::text from pg_replication_slots"
        before = publisher.ask(slot)
        bindir = f'bindir = "{build}"' if build else ""
        study = copy_study(lab, "postgres", kept, "postgres", bindir)
        done = lab.run("run", study, "--bundle", lab.bundle)
        assert done.returncode == 0, done.stderr
        assert publisher.ask(slot) == before


def test_a_copy_with_an_event_and_a_replica_reaches_nobody(lab: Lab) -> None:
    needs("MariaDB")
    trap = lab.folder / "trap"
    trap.mkdir()
    trap.chmod(0o777)
    with socket.create_server(("127.0.0.1", 0)) as primary:
        port = primary.getsockname()[1]
        with mariadb("--event-scheduler=ON", "--server-id=7") as server:
            server.ask("create table lab.mine (id int)")
            server.ask(f"create event lab.e on schedule every 1 second do select 1 into outfile '{trap}/out'")
            server.ask(f"change master to master_host='127.0.0.1', master_port={port}, master_user='x'")
            server.ask("start slave")
            wait(lambda: (trap / "out").exists(), "the event runs")
            primary.settimeout(10)
            primary.accept()[0].close()
            server.ask("set global event_scheduler = off")
            server.process.terminate()
            server.process.wait()
            (trap / "out").unlink()
            kept = lab.folder / "kept"
            copy_files(server.folder / "data", kept)
        study = copy_study(lab, "mariadb", kept, "lab")
        primary.settimeout(0.1)
        with suppress(TimeoutError):
            while True:
                primary.accept()[0].close()
        done = lab.run("run", study, "--bundle", lab.bundle)
        assert done.returncode == 0, done.stderr
        with pytest.raises(TimeoutError):
            primary.accept()
    assert not list(trap.iterdir())


def test_two_labs_at_once_leave_each_other_alone(lab: Lab) -> None:
    study = small_study(lab.folder, subject="postgres")
    processes = [lab.start("run", study, "--bundle", f"b{number}.bundle") for number in range(2)]
    for process in processes:
        _, words = process.communicate(timeout=170)
        assert process.returncode == 0, words
    assert not lab.traces()


def stop(server: Postgres) -> None:
    """Ends a server of a test in an orderly way."""
    pid = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGINT)
    wait(lambda: not (server.folder / "data" / "postmaster.pid").exists(), "the server ends")


def wait(condition: Callable[[], object], why: str) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, f"never: {why}"
        time.sleep(0.1)
