"""What workloads of clients share: arrival; of SQL, how statements are sent, by which driver; their data."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from steelyard.study.key_types import FileName, KeyPath, SettingTable, Strict, Toml
from steelyard.study.passwords import password_written, secret_written
from steelyard.study.workloads.workload import Workload

# at most a day
PauseMs = Annotated[float, Field(ge=0, le=8.64e7)]
_CLOSED = ("think_ms", "think")
_OPEN = ("rate_per_s", "spacing")


class Arrival(Strict):
    """How clients arrive: closed loop with think time, or open loop at a rate."""

    ONLY_IF = {"think_ms": "kind = closed", "think": "think_ms", "spacing": "kind = open"}

    kind: Literal["closed", "open"] = "closed"
    think_ms: PauseMs = 0.0
    """closed loop: pause after each transaction"""
    think: Literal["fixed", "exponential"] = "fixed"
    rate_per_s: float | None = Field(default=None, ge=0.001, le=1e9)
    """open loop: transactions started per second"""
    spacing: Literal["poisson", "even"] = "poisson"

    @model_validator(mode="after")
    def _rate_when_open(self) -> Self:
        if (self.kind == "open") != (self.rate_per_s is not None):
            raise ValueError("rate_per_s is required with kind = 'open', and only allowed there")
        return self

    def load_keys(self) -> Toml:
        """The keys of the load engine's plan."""
        closed = self.kind == "closed"
        return self.model_dump(include={"kind", *(_CLOSED if closed else _OPEN)})

    def summary(self) -> str:
        """As text, for the report."""
        if self.kind == "open":
            return f"open loop, {self.rate_per_s:g}/s, {self.spacing}"
        return f"closed loop, think time {self.think_ms:g} ms"


class ClientWorkload(Workload):
    """Work that clients send over connections."""

    counts_transactions = True
    CLIENT = "threads deadline_ms arrival.think_ms arrival.rate_per_s"

    arrival: Arrival = Arrival()
    threads: int = Field(default=1, ge=1, le=256)
    """event-loop threads of the load engine"""
    deadline_ms: float = Field(default=10_000, ge=0.001, le=6e8)
    """deadline of a transaction; a later one is an error"""
    message_mib_max: int = Field(default=64, ge=1, le=1024)
    """MiB; a larger message of the server ends the connection"""

    def load_keys(self) -> Toml:
        """Arrival, threads, limits; one text per statement."""
        return {
            "arrival": self.arrival.load_keys(),
            "text": "identical",
            "distinct_texts": 1,
            **self.model_dump(include={"threads", "deadline_ms", "message_mib_max"}),
        }

    @property
    def open_loop(self) -> bool:
        """Whether transactions arrive at a rate."""
        return self.arrival.kind == "open"

    @property
    def thinks(self) -> bool:
        """Whether there is think time."""
        return self.arrival.think_ms > 0

    @property
    def engine_threads(self) -> int:
        """Event-loop threads."""
        return self.threads

    @property
    def longest_s(self) -> float:
        """The deadline."""
        return self.deadline_ms / 1e3


_OF_DRIVER = "driver_class driver_url driver_login_s driver_heap_mib driver_warm_up_max_s"
_HANDLES = ("none", "named", "per-use")

Handle = Literal["none", "unnamed", "named", "per-use", "left"]


class TransactionsWorkload(ClientWorkload):
    """Transactions of SQL over connections."""

    CLIENT = f"{ClientWorkload.CLIENT} handle mix retries"

    handle: Handle = "named"
    """none: simple query; unnamed: parsed each time without a name; named: prepared once; per-use: prepared,
    executed, closed; left: prepared and never closed"""
    mix: Literal["weights", "deck"] = "weights"
    """weights: each transaction is drawn at random; deck: each client takes them from a shuffled deck with as
    many cards of each as its weight, so the mix is exact"""
    retries: int = Field(default=0, ge=0, le=1_000_000)
    """how often a transaction is executed again, with the same values, after a serialization failure or a
    deadlock; latency counts from the first time"""

    @property
    def sends_parameters(self) -> bool:
        """Whether values are bound (True) or literals in the text."""
        return self.handle != "none"

    def load_keys(self) -> Toml:
        """Handle, parameters, mix, retries; arrival, limits."""
        return {
            **super().load_keys(),
            **self.model_dump(include={"handle", "mix", "retries"}),
            "parameters": "client" if self.sends_parameters else "none",
        }


class SqlWorkload(TransactionsWorkload):
    """Transactions of SQL over connections, and their data."""

    schema_sql: str = ""
    """kind = 'sql': script that makes and fills the tables"""
    schema_file: FileName | None = None
    """kind = 'sql': file that holds schema_sql"""
    data_file: FileName | None = None
    """kind = 'sql': data, loaded after the schema: SQL (with COPY ... FROM stdin), a dump by pg_dump (plain
    or custom) or mysqldump, an SQLite file"""
    data_directory: FileName | None = None
    """kind = 'sql': data directory of a stopped server, which is copied and never changed"""
    data_database: str = ""
    """kind = 'sql': the database in data_directory that the statements use"""

    @model_validator(mode="after")
    def _names_database(self) -> Self:
        if bool(self.data_directory) != bool(self.data_database):
            raise ValueError("data_directory and data_database belong together: give both or neither")
        return self


class DrivenWorkload(TransactionsWorkload):
    """Transactions of SQL, sent by the native engine or by a JDBC driver."""

    CLIENT = f"{TransactionsWorkload.CLIENT} driver {_OF_DRIVER}"
    ONLY_IF = dict.fromkeys((*_OF_DRIVER.split(), "driver_properties"), "driver")

    driver: str = ""
    """JDBC driver that sends the statements: path of a jar, or Maven coordinates group:artifact:version; '':
    the native engine sends them"""
    driver_class: str = ""
    """class of the driver, where its jar does not announce it"""
    driver_url: str = ""
    """the driver's URL, for subject jdbc, in place of subject.dsn; secrets as ${NAME}; {folder}: a folder of
    the run, for a database within the load engine"""
    driver_login_s: int = Field(default=10, ge=1, le=600)
    """a server that does not complete a login for so long is an error"""
    driver_heap_mib: int = Field(default=512, ge=32, le=1 << 20)
    """heap of the Java engine, whole from the start; more for a database within the engine, or thousands of
    clients"""
    driver_warm_up_max_s: float = Field(default=15.0, ge=0, le=3600)
    """the warm-up goes on beyond plan.warm_up_s until the JVM compiles little, at most so long in all;
    nothing with plan.warm_up_s = 0"""
    driver_properties: SettingTable = {}
    """properties of the driver; a factor sets one as driver_properties.NAME, which needs its value for the
    other options here; secrets as ${NAME} from the environment"""

    @model_validator(mode="after")
    def _as_drivers_do(self) -> Self:
        if password_written(self.driver_url):
            raise ValueError("driver_url holds a password: write ${NAME}, a variable of the environment")
        for key, value in self.driver_properties.items():
            if secret_written(key, value):
                raise ValueError(f"driver_properties.{key}: write ${{NAME}}, a variable of the environment")
        if self.driver and self.handle not in _HANDLES:
            raise ValueError(
                f"handle: by a driver it is {', '.join(_HANDLES)}; whether the server keeps a statement is a"
                " property of the driver (prepareThreshold, useServerPrepStmts)"
            )
        return self

    def client_settings(self) -> Mapping[str, KeyPath]:
        """CLIENT, and the properties of the driver."""
        properties = {
            f"driver_properties.{name}": ("driver_properties", name) for name in self.driver_properties
        }
        return {**super().client_settings(), **properties}


class DerivedWorkload(DrivenWorkload):
    """Tables and transactions of a specification."""

    mix: Literal["weights", "deck"] = "deck"
    """deck: each client takes transactions from a shuffled deck with as many cards of each as the
    specification's weight, so the mix is exact; weights: drawn at random"""
    retries: int = Field(default=10_000, ge=0, le=1_000_000)
    """how often a transaction is executed again, with the same values, after a serialization failure or a
    deadlock; latency counts from the first time. By default until deadline_ms"""
