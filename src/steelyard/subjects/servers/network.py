"""How the hosts of a fleet reach a server that the lab starts: by TCP, with a password of its own."""

import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from steelyard.errors import InputError
from steelyard.study.study import Study
from steelyard.study.workloads.workload import Workload


@dataclass(frozen=True)
class Listening:
    """Where a server listens beside its Unix socket, and for whom.

    address: '' for nowhere; clients: addresses or names of the hosts that it admits; password: theirs.
    """

    address: str
    port: int
    clients: Sequence[str] = ()
    password: str | None = field(default=None, repr=False)

    @property
    def places(self) -> Sequence[str]:
        """Where a server listens by TCP, as `address:port`. Raises OSError for an unknown name."""
        if not self.address:
            return []
        found = socket.getaddrinfo(self.address, self.port, type=socket.SOCK_STREAM)
        return [f"{place[0]}:{self.port}" for *_, place in found]

    @property
    def networks(self) -> Sequence[str]:
        """The clients as networks of one address, or as names."""
        return [_network(client) for client in self.clients]

    @property
    def resolved(self) -> Sequence[str]:
        """The clients as networks of one address: for a server that knows no names. Raises OSError."""
        return [_network(socket.gethostbyname(client)) for client in self.clients]


def check_reach(
    study: Study, workloads: Sequence[Workload], name: str, listens: bool, has_address: bool
) -> None:
    """Raises InputError for a study whose fleet cannot load its subject.

    name: of the subject; listens: its servers can listen for other hosts; has_address: dsn may name it.
    """
    fleet, at = study.fleet, ("fleet", "hosts")
    if fleet is None:
        return
    whole = [workload for workload in workloads if workload.in_rounds or not workload.steady]
    if whole and len(fleet.with_role("load")) > 1:
        raise InputError("one host plays the rounds or sessions of this workload", "remove the others", at)
    # every URL of a driver is an address, also one of a single option
    if study.subject.dsn is not None or study.subject.kind == "jdbc":
        return
    if not listens:
        hint = "give the address of a server as subject.dsn" if has_address else "remove [fleet]"
        raise InputError(f"other hosts cannot load {name} that the lab starts", hint, at)
    if not fleet.with_role("lab"):
        hint = 'add this machine with the address by which the others reach it, and roles = ["lab"]'
        raise InputError("no host has the role lab, which starts the server", hint, at)


def listening(study: Study, port: int) -> Listening:
    """Of a server that the lab starts for the study. port: where only this machine loads it.

    For a fleet a free port and a new password are drawn. Raises InputError for an address of another machine.
    """
    fleet = study.fleet
    if fleet is None or study.subject.dsn is not None:
        return Listening("", port)
    (name,) = fleet.with_role("lab")
    address = fleet.hosts[name].address
    clients = dict.fromkeys([address, *(fleet.hosts[host].address for host in fleet.with_role("load"))])
    return Listening(address, _free_port(address), list(clients), secrets.token_urlsafe())


def _free_port(address: str) -> int:
    try:
        family, *_, place = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind(place)
            return int(probe.getsockname()[1])
    except OSError as error:
        raise InputError(
            f"{address} is no address of this machine: {error.strerror}",
            "run steelyard on the host with the role lab: the server starts there",
            ("fleet", "hosts"),
        ) from None


def _network(client: str) -> str:
    try:
        return f"{client}/{ip_address(client).max_prefixlen}"
    except ValueError:
        return client
