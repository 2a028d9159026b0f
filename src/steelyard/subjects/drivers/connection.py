"""What the Java engine needs of an option: classes, URL, the driver's properties, and what it reports."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from steelyard import _core
from steelyard.study.errors import InputError
from steelyard.study.key_types import Setting
from steelyard.study.passwords import VARIABLE, from_environment
from steelyard.study.plan import Option
from steelyard.study.workloads.driven import DrivenWorkload
from steelyard.subjects import Load, SubjectFailed
from steelyard.subjects.drivers.jars import jars, located
from steelyard.subjects.drivers.java import engine_jar, java

IN_PROCESS = "{folder}"
"""In a URL: a folder of the lab's, for a database within the engine's process."""

_DIALECTS = {"postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql", "sqlite": "sqlite"}


@dataclass(frozen=True)
class DriverConnection:
    """How an option's driver connects. properties: of the driver, secrets included: never for a bundle.

    driver: for other machines, whose jars are elsewhere.
    """

    url: str
    properties: Mapping[str, str]
    class_path: Sequence[Path]
    driver_class: str = ""
    login_s: int = 10
    heap_mib: int = 512
    warm_up_max_s: float = 15.0
    java: Path = field(default_factory=java)
    driver: str = ""

    @classmethod
    def of(
        cls, option: Option, url: str, folder: Path, properties: Mapping[str, str], more: tuple[str, ...] = ()
    ) -> DriverConnection:
        """For an option with a driver. properties: of the subject, in place of the study's own; folder: of
        the study; more: coordinates of jars beside the driver's. Raises InputError.
        """
        workload = driven(option)
        assert workload is not None
        own = {key: _expanded(key, value) for key, value in workload.driver_properties.items()}
        found = [engine_jar(), *jars(workload.driver, folder, more)]
        return cls(
            url, {**own, **properties}, found, workload.driver_class,
            workload.driver_login_s, workload.driver_heap_mib, workload.driver_warm_up_max_s,
            driver=located(workload.driver, folder),
        )  # fmt: skip

    @property
    def plan(self) -> dict[str, Any]:
        """Its part of the engine's plan."""
        return {
            "java": str(self.java),
            "class_path": [str(path) for path in self.class_path],
            "driver": self.driver,
            "driver_class": self.driver_class,
            "login_s": self.login_s,
            "heap_mib": self.heap_mib,
            "warm_up_max_s": self.warm_up_max_s,
            "url": self.url,
            "properties": dict(self.properties),
        }

    def prepare(
        self, statements: Sequence[str], facts: Mapping[str, str], limit_s: float, shown_url: str
    ) -> Mapping[str, Any]:
        """Executes SQL once, and returns version, driver, properties and facts (name to value).

        shown_url: the URL without secrets. Raises InputError where the driver cannot connect, SubjectFailed
        where SQL or Java fail.
        """
        plan = {"jdbc": {**self.plan, "statements": list(statements), "facts": dict(facts)}}
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


def by_driver(load: Load, connection: DriverConnection) -> Load:
    """The load of an option whose statements a driver sends; its facts name the driver's properties."""
    settings = {f"driver.{key}": value for key, value in connection.properties.items() if key != "password"}
    facts = {
        **load.facts,
        "settings": {**load.facts.get("settings", {}), **settings},
        "sources": {**load.facts.get("sources", {}), **dict.fromkeys(settings, "study")},
    }
    return replace(load, engine="jdbc", plan={**load.plan, "jdbc": connection.plan}, facts=facts)


def tried_by_driver(plan: Mapping[str, Any], limit_s: float) -> Mapping[str, Any]:
    """Executes each transaction of the engine's plan once; columns as those of `_core.load_trial`.

    Raises SubjectFailed.
    """
    event = _event("trial", plan, limit_s)
    if event["event"] != "tried":
        raise SubjectFailed(str(event["cause"]))
    return {name: column for name, column in event.items() if name != "event"}


def _event(mode: str, plan: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
    """What Java says at its end. Raises SubjectFailed."""
    jdbc = plan["jdbc"]
    java = _java(jdbc, f"-Xmx{jdbc['heap_mib']}m", "-XX:+UseSerialGC")
    try:
        # the plan may hold a password: a file would stay when the lab is killed
        done = subprocess.run(
            [*java, mode, "/proc/self/fd/0"], input=json.dumps(with_pieces(plan)),
            capture_output=True, text=True, timeout=limit_s, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SubjectFailed(f"the driver did not answer within {limit_s:.0f} s ({mode})") from None
    try:
        return cast("dict[str, Any]", json.loads(done.stdout.splitlines()[-1]))
    except (IndexError, ValueError):
        raise SubjectFailed(f"Java ended with {done.returncode}: {done.stderr.strip()}") from None


def with_pieces(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan, whose statements are cut into text and parameters for Java, by the server's rules."""
    dialect = _DIALECTS.get(plan["jdbc"]["url"].split(":")[1], "standard")
    statements = [
        {**one, "pieces": _core.statement_pieces(one["sql"], dialect)} for one in plan.get("statements", ())
    ]
    return {**plan, "statements": statements}


def with_own_programs(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan of another machine, with Java and the jars of this one. Raises InputError."""
    found = [engine_jar(), *jars(plan["driver"], Path())]
    return {**plan, "java": str(java()), "class_path": [str(path) for path in found]}


def command(plan: Mapping[str, Any]) -> list[str]:
    """Java with the engine; plan: `DriverConnection.plan`."""
    heap_mib = plan["heap_mib"]
    # a heap of one size from the start: its growth would look like the server's
    return _java(plan, f"-Xms{heap_mib}m", f"-Xmx{heap_mib}m", "-XX:+AlwaysPreTouch", "-XX:+UseParallelGC")


def query_command(plan: Mapping[str, Any]) -> list[str]:
    """Java for the queries of monitors: small, and quick to start."""
    return _java(plan, "-Xms16m", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def _java(plan: Mapping[str, Any], *options: str) -> list[str]:
    # without its file of counters, whose writing may wait for the disk; Derby would leave derby.log where
    # the user is
    own = ("-XX:-UsePerfData", "-Dderby.stream.error.field=java.lang.System.err")
    return [plan["java"], *options, *own, "-cp", ":".join(plan["class_path"]), "steelyard.Main"]


def _expanded(key: str, value: Setting) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return VARIABLE.sub(lambda found: from_environment(found[1], f"workload.driver_properties.{key}"), text)
