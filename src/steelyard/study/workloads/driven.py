"""What workloads share whose statements a JDBC driver may send in place of the native engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field, model_validator

from steelyard.study.key_types import Setting
from steelyard.study.passwords import password_written, secret_written
from steelyard.study.workloads.transactions import TransactionsWorkload
from steelyard.study.workloads.workload import KeyPath

_OF_DRIVER = ("driver_class", "driver_url", "driver_login_s", "driver_heap_mib", "driver_warm_up_max_s")
_DRIVER = ("driver", *_OF_DRIVER)
_HANDLES = ("none", "named", "per-use")


class DrivenWorkload(TransactionsWorkload):
    """Transactions of SQL, sent by the native engine or by a JDBC driver."""

    driver: str = Field(
        default="",
        description="JDBC driver that sends the statements: path of a jar, or Maven coordinates"
        " group:artifact:version; '': the native engine sends them",
    )
    driver_class: str = Field(
        default="", description="class of the driver, where its jar does not announce it"
    )
    driver_url: str = Field(
        default="",
        description="the driver's URL, for subject jdbc, in place of subject.dsn; secrets as ${NAME};"
        " {folder}: a folder of the run, for a database within the load engine",
    )
    driver_login_s: int = Field(
        default=10,
        ge=1,
        le=600,
        description="a server that does not complete a login for so long is an error",
    )
    driver_heap_mib: int = Field(
        default=512,
        ge=32,
        le=1 << 20,
        description="heap of the Java engine, whole from the start; more for a database within the engine, or"
        " thousands of clients",
    )
    driver_warm_up_max_s: float = Field(
        default=15.0,
        ge=0,
        le=3600,
        description="the warm-up goes on beyond plan.warm_up_s until the JVM compiles little, at most so long"
        " in all; nothing with plan.warm_up_s = 0",
    )
    driver_properties: dict[str, Setting] = Field(
        default_factory=dict[str, Setting],
        description="properties of the driver; a factor sets one as driver_properties.NAME, which needs its"
        " value for the other options here; secrets as ${NAME} from the environment",
    )

    @model_validator(mode="after")
    def _keeps_secrets(self) -> DrivenWorkload:
        if password_written(self.driver_url):
            raise ValueError("driver_url holds a password: write ${NAME}, a variable of the environment")
        for key, value in self.driver_properties.items():
            if secret_written(key, value):
                raise ValueError(f"driver_properties.{key}: write ${{NAME}}, a variable of the environment")
        return self

    @model_validator(mode="after")
    def _sends_as_drivers_do(self) -> DrivenWorkload:
        if self.driver and self.handle not in _HANDLES:
            raise ValueError(
                f"handle: by a driver it is {', '.join(_HANDLES)}; whether the server keeps a statement is a"
                " property of the driver (prepareThreshold, useServerPrepStmts)"
            )
        return self

    def client_settings(self) -> Mapping[str, KeyPath]:
        """CLIENT_SETTINGS, the driver, and its properties."""
        properties = {
            f"driver_properties.{name}": ("driver_properties", name) for name in self.driver_properties
        }
        return {**super().client_settings(), **{key: (key,) for key in _DRIVER}, **properties}

    def idle(self) -> Iterator[tuple[KeyPath, str]]:
        """The driver's keys without a driver."""
        if not self.driver:
            for key in (*_OF_DRIVER, "driver_properties"):
                yield (key,), "there is no workload.driver: the native engine sends the statements"
        yield from super().idle()
