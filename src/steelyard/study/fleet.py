"""Several machines: the hosts of a fleet, and the role of each."""

from ipaddress import ip_address
from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard.study.key_types import GroupName, Strict

Role = Literal["lab", "load"]
SCHEDULER_FILE = "scheduler.json"


def refuse_open(address: str) -> None:
    """Raises ValueError unless this machine alone reaches the address: without TLS a fleet obeys anyone."""
    try:
        own = ip_address(address).is_loopback
    except ValueError:
        own = address == "localhost"
    if not own:
        raise ValueError(
            f"tls = false at {address}: whoever reaches it could run any program as your user; leave tls out,"
            " or use loopback addresses alone"
        )


class FleetHost(Strict):
    """One machine."""

    address: str = Field(min_length=1)
    """address by which the other hosts reach it"""
    roles: list[Role] = Field(min_length=1)
    """lab: `steelyard run` runs there, starts and watches the server, and keeps the bundle; load: runs a load
    engine"""
    reach: list[str] | None = None
    """command that executes its arguments on the host; default: ssh with the address; for the host of the lab
    none is needed"""
    python: str = "python3"
    """Python on the host that has steelyard[fleet], of the same version"""


class Fleet(Strict):
    """The machines that take part in a study."""

    folder: str = "fleet"
    """folder of the scheduler file and the certificates, which `steelyard fleet up` makes"""
    tls: bool = True
    """encrypt and verify all connections of the scheduler; false: on loopback alone"""
    hosts: dict[GroupName, FleetHost] = Field(min_length=1, max_length=10_000)

    @model_validator(mode="after")
    def _one_lab_and_its_loads(self) -> Self:
        if not self.with_role("load"):
            raise ValueError("no host has the role load")
        if len(names := self.with_role("lab")) > 1:
            raise ValueError(f"more than one host has the role lab: {', '.join(names)}")
        if both := [name for name in names if "load" in self.hosts[name].roles]:
            raise ValueError(
                f"{both[0]}: the lab's host has the server, and loads nothing: leave the role load out"
            )
        if not self.tls:
            for host in self.hosts.values():
                refuse_open(host.address)
        return self

    def with_role(self, role: Role) -> list[str]:
        """Names of the hosts with a role, in the order of the file."""
        return [name for name, host in self.hosts.items() if role in host.roles]
