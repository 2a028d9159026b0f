"""What workloads of SQL of the user's own share: how statements are sent, and where the data come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from steelyard.study.workloads.arrival import ClientWorkload
from steelyard.study.workloads.workload import KeyPath


class SqlWorkload(ClientWorkload):
    """Transactions of SQL over connections, and their data."""

    CLIENT_SETTINGS: ClassVar[Mapping[str, KeyPath]] = {
        **ClientWorkload.CLIENT_SETTINGS,
        **{key: (key,) for key in ("handle", "mix", "retries")},
    }

    handle: Literal["none", "unnamed", "named", "per-use", "left"] = Field(
        default="named",
        description="none: simple query; unnamed: parsed each time without a name; named: prepared "
        "once; per-use: prepared, executed, closed; left: prepared and never closed",
    )
    mix: Literal["weights", "deck"] = Field(
        default="weights",
        description="weights: each transaction is drawn at random; deck: each client takes them from a"
        " shuffled deck with as many cards of each as its weight, so the mix is exact",
    )
    retries: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="how often a transaction is executed again, with the same values, after a serialization"
        " failure or a deadlock; latency counts from the first time",
    )
    schema_sql: str = Field(default="", description="kind = 'sql': script that makes and fills the tables")
    schema_file: str | None = Field(
        default=None, min_length=1, description="kind = 'sql': file that holds schema_sql"
    )
    data_file: str | None = Field(
        default=None,
        min_length=1,
        description="kind = 'sql': data, loaded after the schema: SQL (with COPY ... FROM stdin), a dump by"
        " pg_dump (plain or custom) or mysqldump, an SQLite file",
    )
    data_directory: str | None = Field(
        default=None,
        min_length=1,
        description="kind = 'sql': data directory of a stopped server, which is copied and never changed",
    )
    data_database: str = Field(
        default="", description="kind = 'sql': the database in data_directory that the statements use"
    )

    @model_validator(mode="after")
    def _names_database(self) -> SqlWorkload:
        if bool(self.data_directory) != bool(self.data_database):
            raise ValueError("data_directory and data_database belong together: give both or neither")
        return self

    @property
    def sends_parameters(self) -> bool:
        """Whether values are bound (True) or literals in the text."""
        return self.handle != "none"

    def load_keys(self) -> dict[str, Any]:
        """Handle, parameters, mix, retries; arrival, limits."""
        return {
            **super().load_keys(),
            **self.model_dump(include={"handle", "mix", "retries"}),
            "parameters": "client" if self.sends_parameters else "none",
        }
