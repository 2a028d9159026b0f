"""How hosts of a fleet reach a MariaDB that the lab starts: by TCP, as a user with a password."""

from __future__ import annotations

from typing import Any

import pymysql

from steelyard.subjects.servers.network import Listening

_LOAD_USER = "steelyard_load"
# replication and events of copied data do not start
_QUIET = ("--skip-slave-start", "--event-scheduler=OFF")


def arguments(network: Listening) -> list[str]:
    """Of the server: it listens on the address of its host, or on its socket alone; no replication."""
    if not network.address:
        return [*_QUIET, "--skip-networking"]
    return [*_QUIET, "--skip-networking=OFF", f"--bind-address={network.address}", f"--port={network.port}"]


def admit_hosts(connection: pymysql.Connection[Any], network: Listening) -> None:
    """Lets the clients in, each from its own address alone, and nobody else by the network."""
    if not network.address:
        return
    with connection.cursor() as cursor:
        # a copied data directory brings the users of its server
        cursor.execute("select user, host from mysql.user where host not in ('', 'localhost')")
        for user, host in cursor.fetchall():
            cursor.execute("drop user %s@%s", (user, host))
        for client in network.clients:
            cursor.execute(
                "create or replace user %s@%s identified by %s", (_LOAD_USER, client, network.password)
            )
            cursor.execute("grant all on *.* to %s@%s", (_LOAD_USER, client))


def reached(network: Listening, socket: str, user: str) -> dict[str, Any]:
    """Address and user for the load, as fields of `Server`."""
    if not network.address:
        return {"socket": socket, "host": "localhost", "port": network.port, "user": user}
    return {
        "host": network.address,
        "port": network.port,
        "user": _LOAD_USER,
        "password": network.password,
    }
