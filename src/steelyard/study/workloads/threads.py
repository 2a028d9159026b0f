"""The workload of a simulated machine: groups of threads, each with alternating bursts of CPU and sleeps."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from steelyard.errors import nearest
from steelyard.study.key_types import GroupName, Idle, KeyPath, Strict
from steelyard.study.workloads.workload import Workload

_Seconds = Annotated[float, Field(ge=0, le=1e6)]
# of each group
_KEYS = (
    "class nice priority foreground working_set_kib set fork cpu.kind cpu.mean_us cpu.cv"
    " sleep.kind sleep.mean_us sleep.cv arrive.at_s arrive.over_s count"
)


class Times(Strict):
    """How long bursts or sleeps are."""

    kind: Literal["fixed", "exponential", "lognormal"]
    mean_us: float = Field(ge=0, le=3.6e9)
    """0 (for sleep only): never sleeps"""
    cv: float | None = Field(default=None, ge=0.001, le=100)
    """lognormal: standard deviation over mean"""

    @model_validator(mode="after")
    def _cv_where_it_counts(self) -> Self:
        if (self.kind == "lognormal") != (self.cv is not None):
            needs = "needs cv (standard deviation over mean)" if self.cv is None else "has no cv"
            raise ValueError(f"{self.kind} {needs}")
        return self


class ThreadArrival(Strict):
    """When the threads of a group start, in seconds from the start of the warm-up."""

    at_s: _Seconds = 0
    over_s: _Seconds = 0
    """the starts are evenly spread over this time"""


class Group(Strict):
    """Threads that behave alike. A burst with its sleep is a transaction."""

    model_config = ConfigDict(serialize_by_alias=True)

    ONLY_IF = {"nice": "class_name = TS or IA", "foreground": "class_name = IA"}

    count: int | None = Field(default=None, ge=1, le=1_000_000)
    """number of threads; of `scaled`: plan.clients"""
    class_name: Literal["TS", "IA", "FX", "RT"] = Field(default="TS", alias="class")
    """scheduling class"""
    nice: int = Field(default=0, ge=-20, le=19)
    """TS and IA"""
    priority: int | None = Field(default=None, ge=0, le=60)
    """FX 0-60, RT 0-59; TS and IA: level to start with, 29"""
    foreground: bool = False
    """IA: the window of the thread has the focus"""
    cpu: Times
    sleep: Times = Times(kind="fixed", mean_us=0)
    working_set_kib: float = Field(default=0, ge=0, le=1e9)
    """of each thread, not shared"""
    set: str | None = None
    """processor set, a name in subject.settings: set.NAME"""
    arrive: ThreadArrival = ThreadArrival()
    fork: float = Field(default=0, ge=0, le=1)
    """share of bursts that end in a fork"""


class ThreadsWorkload(Workload):
    """Groups of threads on a simulated machine; the points are the numbers of threads of one group."""

    POINT = "thread"
    POINTS = "threads"
    WHO = "threads"
    simulated = True

    kind: Literal["threads"]
    scaled: str
    """the measured group: plan.clients are its thread counts, its bursts are the transactions; the other
    groups share the machine with it"""
    groups: dict[GroupName, Group] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_scaled(self) -> Self:
        if self.scaled not in self.groups:
            raise ValueError(f'scaled: no group "{self.scaled}"{nearest(self.scaled, self.groups)}')
        for name, group in self.groups.items():
            if name in ("transaction", "total"):
                raise ValueError(f'groups: "{name}" is reserved for all groups together; choose another name')
            if group.count is None and name != self.scaled:
                raise ValueError(f'groups.{name}: missing key "count"')
        return self

    def client_settings(self) -> Mapping[str, KeyPath]:
        """`group.key` for every key of every group: jvm.working_set_kib, oltp.sleep.mean_us."""
        return {
            f"{name}.{key}": ("groups", name, *key.split("."))
            for name in self.groups
            for key in _KEYS.split()
        }

    def idle(self) -> Idle:
        """The count of the scaled group; keys that a thread's class ignores."""
        yield ("groups", self.scaled, "count"), "plan.clients are the numbers of threads of this group"
        yield from super().idle()

    @property
    def thinks(self) -> bool:
        """Whether the measured threads sleep between bursts."""
        return self.groups[self.scaled].sleep.mean_us > 0

    @property
    def engine_threads(self) -> int:
        """0: the simulation needs no engine threads."""
        return 0

    def summary(self) -> dict[str, str]:
        """One line per group."""
        return {
            "workload": f"threads; transactions are the bursts of {self.scaled}",
            **{f"group {name}": _group(name == self.scaled, group) for name, group in self.groups.items()},
        }


def _group(scaled: bool, group: Group) -> str:
    sleep = f"sleep {_times_text(group.sleep)}" if group.sleep.mean_us else "never sleeps"
    count = "as many as the points" if scaled else f"{group.count}"
    where = f", set {group.set}" if group.set else ""
    return (
        f"{count}, class {group.class_name}, nice {group.nice}, CPU {_times_text(group.cpu)}, {sleep},"
        f" working set {group.working_set_kib:g} KiB{where}"
    )


def _times_text(times: Times) -> str:
    spread = "" if times.cv is None else f", cv {times.cv:g}"
    return f"{times.mean_us:g} µs ({times.kind}{spread})"
