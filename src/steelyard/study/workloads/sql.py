"""What workloads of SQL of the user's own share: where the data come from."""

from __future__ import annotations

from pydantic import Field, model_validator

from steelyard.study.workloads.transactions import TransactionsWorkload


class SqlWorkload(TransactionsWorkload):
    """Transactions of SQL over connections, and their data."""

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
