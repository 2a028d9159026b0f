"""PostgreSQL's JDBC driver in place of the native engine, over the same Unix socket: TCP is another path."""

from __future__ import annotations

from pathlib import Path

from steelyard.study.plan import Option
from steelyard.subjects import Load
from steelyard.subjects.drivers.connection import DriverConnection, by_driver, driven
from steelyard.subjects.drivers.jars import UNIX_SOCKETS

# https://jdbc.postgresql.org/documentation/use/, https://kohlschutter.github.io/junixsocket/
_FACTORY = "org.newsclub.net.unix.AFUNIXSocketFactory$FactoryArg"


def sent_by_driver(load: Load, option: Option, folder: Path) -> Load:
    """The load, by the option's driver where it has one. folder: of the study. Raises InputError."""
    server = load.server
    if server is None or driven(option) is None:
        return load
    if not server.host.startswith("/"):
        properties = {"user": server.user, "password": server.password or ""}
        url = f"jdbc:postgresql://{server.host}:{server.port}/{server.database}"
        return by_driver(load, DriverConnection.of(option, url, folder, properties))
    properties = {
        "user": server.user,
        "sslmode": "disable",
        "socketFactory": _FACTORY,
        "socketFactoryArg": f"{server.host}/.s.PGSQL.{server.port}",
    }
    url = f"jdbc:postgresql://localhost/{server.database}"
    return by_driver(load, DriverConnection.of(option, url, folder, properties, (UNIX_SOCKETS,)))
