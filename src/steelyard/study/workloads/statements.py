"""The workload of database servers: statements, their parameters and texts, and how clients arrive."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from steelyard.study.key_types import FileName, KeyPath, Setting, SqlText, Strict, Toml
from steelyard.study.script_study import instead_of_set
from steelyard.study.workloads.transactions import DrivenWorkload, PauseMs, SqlWorkload

_Integer = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]


class _Range(Strict):
    low: _Integer
    high: _Integer


class Uniform(_Range):
    """Whole numbers from low to high, uniformly distributed."""

    kind: Literal["uniform"]


class Zipf(_Range):
    """Whole numbers from low to high; low is the most frequent, rank k has weight k^-exponent."""

    kind: Literal["zipf"]
    exponent: float = Field(ge=0, le=20)


class Nurand(_Range):
    """Whole numbers from low to high, some much more often: ((random(0, a) | random(low, high)) + constant)
    mod (high - low + 1) + low, as in TPC-C 2.1.6.

    constant: its C, in the study so that the bundle has it.
    """

    kind: Literal["nurand"]
    a: int = Field(ge=0, le=2**63 - 1)
    constant: int = Field(ge=0, le=2**63 - 1)


class Sequence(Strict):
    """start, start + step, ...: one sequence for all clients, without duplicates."""

    kind: Literal["sequence"]
    start: _Integer = 1
    step: _Integer = 1
    to: _Integer | None = None
    """last number; needed at an address, with start"""


class Unique(Strict):
    """start, start + 1, ...: whole numbers never used before in the run."""

    kind: Literal["unique"]
    start: _Integer = 1
    """needed at an address: the first number that no row has"""


class Text(Strict):
    """Random lower-case letters."""

    kind: Literal["text"]
    length: int = Field(ge=0, le=1 << 20)


class Choice(Strict):
    """One of these values; one that stands there twice comes twice as often."""

    kind: Literal["choice"]
    values: list[Setting] = Field(min_length=1)


Generator = Annotated[
    Uniform | Zipf | Nurand | Sequence | Unique | Text | Choice, Field(discriminator="kind")
]


NO_PGBENCH_SCRIPTS = (
    'scripts of pgbench are a workload of their own: kind = "pgbench" executes them, and'
    " `steelyard run --pgbench SCRIPT.sql` needs no study"
)
_META_COMMAND = re.compile(r"^\s*\\(\w+)", re.MULTILINE)
_OWN_KEYS = "statements transactions schema_file schema_sql data_file data_directory data_database"


class Statement(Strict):
    """One statement; `:name` marks a parameter, `{tag}` becomes a number that makes texts differ."""

    sql: SqlText = ""
    """its text; needed, or sql_file"""
    sql_file: FileName | None = None
    """file that holds the text, from the folder of the study file"""
    weight: float = Field(default=1.0, ge=1e-9, le=1e9)
    rows: Literal["equal", "may differ"] = "equal"
    """under all options; may differ: an option may be ahead, and none wins"""
    parameters: dict[str, Generator] = {}
    """generator by parameter: {kind = 'uniform', low = 1, high = 9}"""

    @model_validator(mode="after")
    def _has_text(self) -> Self:
        if not self.sql.strip():
            raise ValueError('the text is needed: sql = "..." or sql_file = "NAME.sql"')
        if found := _META_COMMAND.search(self.sql):
            instead = instead_of_set(self.sql) or (
                "for \\set write parameters = { id = { kind = 'uniform', low = 1, high = 100000 } },"
                " and :id in the SQL"
            )
            raise ValueError(
                f"\\{found[1]}: meta-commands of pgbench and psql are not supported here; {instead}"
                ' (kind = "pgbench" executes whole scripts)'
            )
        return self


class Transaction(Strict):
    """Statements executed in this order as one unit."""

    statements: list[str] = Field(min_length=1)
    weight: float = Field(default=1.0, ge=1e-9, le=1e9)
    begin: bool = False
    """wrap in BEGIN and COMMIT"""
    values: dict[str, Generator] = {}
    """generator by parameter: drawn once per transaction, the same for its statements"""
    keying_ms: PauseMs = 0.0
    """pause of the client before it; not part of its latency"""
    think_ms: PauseMs = 0.0
    """pause of the client after it, added to that of the arrival"""
    think: Literal["fixed", "exponential"] = "fixed"
    """how think_ms is distributed: think_ms is its mean"""


class StatementWorkload(SqlWorkload, DrivenWorkload):
    """Statements with parameters and weights, and how they are sent."""

    CLIENT = f"{DrivenWorkload.CLIENT} text parameters distinct_texts"
    ONLY_IF = {
        **DrivenWorkload.ONLY_IF,
        **dict.fromkeys(_OWN_KEYS.split(), "kind = sql"),
        "rows": "kind = lookup or orders or storm",
        "distinct_texts": "text = distinct",
    }

    SMALLEST = {"rows": 1_000}

    kind: str = "lookup"
    """lookup, orders, storm, or sql: statements of your own"""
    rows: int = Field(default=100_000, ge=1, le=10**12)
    """size of the data set; not of kind = 'sql'"""
    text: Literal["identical", "distinct", "unique"] = "identical"
    """number of different texts: one, N, or a new one for each execution"""
    distinct_texts: int = Field(default=200, ge=1, le=1_000_000)
    """text = 'distinct': number of texts, N"""
    parameters: Literal["client", "none"] | None = None
    """client: bound; none: literals in the text; default: follows from handle and text"""
    statements: dict[str, Statement] = {}
    """kind = 'sql': statements of your own by name"""
    transactions: dict[str, Transaction] = {}
    """kind = 'sql': transactions by name; default: one per statement"""

    def client_settings(self) -> Mapping[str, KeyPath]:
        """Those of a driver, and the text of each statement of its own."""
        texts = {f"statements.{name}.sql": ("statements", name, "sql") for name in self.statements}
        return {**super().client_settings(), **texts}

    @property
    def sends_parameters(self) -> bool:
        """Whether values are bound (True) or literals in the text."""
        if self.parameters is not None:
            return self.parameters == "client"
        return self.handle != "none" and self.text != "unique"

    @property
    def fills(self) -> bool:
        """Whether it has many texts, or leaves statements prepared."""
        return self.text != "identical" or self.handle == "left"

    def load_keys(self) -> Toml:
        """Handle, text, parameters, mix, retries, arrival, limits."""
        return {**super().load_keys(), **self.model_dump(include={"text", "distinct_texts"})}

    def summary(self) -> dict[str, str]:
        """Kind and size, arrival, threads."""
        own = f"{len(self.statements)} statements of the study's own"
        return {
            "workload": f"{self.kind}, {own if self.kind == 'sql' else f'{self.rows:,} rows'}",
            "arrival": self.arrival.summary(),
            "threads": str(self.threads),
        }
