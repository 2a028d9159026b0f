"""MariaDB's JDBC driver in place of the native engine, over the same Unix socket: TCP is another path."""

from __future__ import annotations

from pathlib import Path

from steelyard.study.plan import Option
from steelyard.subjects import Load
from steelyard.subjects.drivers.connection import DriverConnection, by_driver, driven
from steelyard.subjects.drivers.jars import NATIVE_ACCESS


def sent_by_driver(load: Load, option: Option, folder: Path) -> Load:
    """The load, by the option's driver where it has one. folder: of the study. Raises InputError."""
    server = load.server
    if server is None or driven(option) is None:
        return load
    if not server.socket:
        properties = {"user": server.user, "password": server.password or ""}
        url = f"jdbc:mariadb://{server.host}:{server.port}/{server.database}"
        return by_driver(load, DriverConnection.of(option, url, folder, properties))
    # https://mariadb.com/docs/connectors/mariadb-connector-j/about-mariadb-connector-j
    properties = {"user": server.user, "localSocket": server.socket}
    url = f"jdbc:mariadb://localhost/{server.database}"
    return by_driver(load, DriverConnection.of(option, url, folder, properties, (NATIVE_ACCESS,)))
