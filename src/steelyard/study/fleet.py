"""Several machines: the hosts of a fleet, and the role of each."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from steelyard.study.key_types import GroupName, Strict

Role = Literal["server", "load", "lab"]
SCHEDULER_FILE = "scheduler.json"


class FleetHost(Strict):
    """One machine."""

    address: str = Field(min_length=1, description="address by which the other hosts reach it")
    roles: list[Role] = Field(
        min_length=1,
        description="load: runs a load engine; server: the study's server is started, watched and stopped"
        " there; lab: keeps the bundle, the machine where `steelyard run` runs",
    )
    reach: list[str] | None = Field(
        default=None,
        description="command that executes its arguments on the host; default: ssh with the address; for the"
        " host of the lab none is needed",
    )
    python: str = Field(
        default="python3", description="Python on the host that has steelyard[fleet], of the same version"
    )


class Fleet(Strict):
    """The machines that take part in a study."""

    folder: str = Field(
        default="fleet",
        description="folder of the scheduler file and the certificates, which `steelyard fleet up` makes",
    )
    tls: bool = Field(default=True, description="encrypt and verify all connections of the scheduler")
    hosts: dict[GroupName, FleetHost] = Field(min_length=1, max_length=10_000)

    @model_validator(mode="after")
    def _one_of_each(self) -> Fleet:
        if not self.with_role("load"):
            raise ValueError("no host has the role load")
        roles: tuple[Role, ...] = ("lab", "server")
        for role in roles:
            if len(names := self.with_role(role)) > 1:
                raise ValueError(f"more than one host has the role {role}: {', '.join(names)}")
        return self

    def with_role(self, role: Role) -> list[str]:
        """Names of the hosts with a role, in the order of the file."""
        return [name for name, host in self.hosts.items() if role in host.roles]

    @property
    def server(self) -> str | None:
        """The host of the server, where that is not the machine of the lab."""
        return next((name for name in self.with_role("server") if "lab" not in self.hosts[name].roles), None)

    @property
    def workers(self) -> list[str]:
        """Names of the hosts that run something for the lab."""
        return [name for name in self.hosts if name == self.server or "load" in self.hosts[name].roles]

    @property
    def apart(self) -> bool:
        """Whether load comes from other hosts than the server's own."""
        return self.with_role("load") != self.with_role("server")
