"""The Java engine as the lab starts it, with a plan of a test."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from needs import JDBC
from servers import Server

from steelyard.lab.engines.process import LoadProcess
from steelyard.lab.engines.result import EngineResult
from steelyard.subjects.drivers.connection import engine_jar, jars, java

PGJDBC = "org.postgresql:postgresql:42.7.4"
needs_java = pytest.mark.needs(*JDBC)


def class_path(driver: str) -> list[str]:
    """The engine's jar and those of a driver by its Maven coordinates."""
    return [str(path) for path in (engine_jar(), *jars(driver, Path()))]


def jdbc_of(driver: str, url: str) -> dict[str, Any]:
    """The plan's part for a driver by its Maven coordinates."""
    return _connection(class_path(driver), url)


def jdbc(
    server: Server, jars_of_driver: list[str], user: str = "postgres", **properties: str
) -> dict[str, Any]:
    found = _connection(jars_of_driver, f"jdbc:postgresql://127.0.0.1:{server.port}/postgres")
    return {**found, "properties": {"user": user, "sslmode": "disable", **properties}}


def _connection(jars_of_driver: list[str], url: str) -> dict[str, Any]:
    return {
        "java": str(java()),
        "class_path": jars_of_driver,
        "driver_class": "",
        "heap_mib": 64,
        "warm_up_max_s": 15,
        "login_s": 10,
        "url": url,
        "properties": {},
    }


def by_java(of: dict[str, Any], connection: dict[str, Any]) -> EngineResult:
    engine = LoadProcess("jdbc", {**of, "jdbc": connection}, frozenset(os.sched_getaffinity(0)))
    try:
        return engine.result(lambda _: None, 60)
    finally:
        engine.stop()
