"""The lab's engines by name, with the tables and facts in the result of each."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

# from the plan (JSON) and a listener (lines of JSON) to the result (JSON); an engine that works in turns also
# gets a function that waits so many seconds for the next command (JSON)
Run = Callable[..., str]


# words with which a server ends a session, and the setting behind them
_TIMEOUTS = {
    "due to idle-session timeout": "idle_session_timeout",
    "due to idle-in-transaction timeout": "idle_in_transaction_session_timeout",
    "due to transaction timeout": "transaction_timeout",
    "because of inactivity": "wait_timeout",
}


class LoadFailed(Exception):
    """The engine could not continue: the text gives the cause, and a time that was too short."""

    def __str__(self) -> str:
        text = super().__str__()
        key = next((key for words, key in _TIMEOUTS.items() if words in text), "")
        return text + (f" (raise {key} in [subject.session])" if key else "")


@dataclass(frozen=True)
class Engine:
    """One engine. place: module:function, a `Run`; reports_alive: reports at least once per second;
    takes_commands: can work in turns.

    tables: in every result; optional: in a result only if they have rows; facts: that the engine reports
    about itself. A result contains nothing else.
    """

    place: str
    tables: frozenset[str]
    optional: frozenset[str] = frozenset()
    facts: frozenset[str] = frozenset()
    reports_alive: bool = False
    takes_commands: bool = False

    def load(self) -> Run:
        """The function that runs a plan."""
        module, _, function = self.place.partition(":")
        return getattr(import_module(module), function)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOAD_TABLES = _names(
    "phases throughput latency clients transactions executions marks errors samples notices inspect asides"
)
_LOAD_FACTS = _names(
    "threads connections_made reconnections numbered connect_ns_mean backlog io connections_lost"
    " connections_lost_cause began_ns"
)

ENGINES: dict[str, Engine] = {
    "load": Engine(
        "steelyard._core:load_run", _LOAD_TABLES, facts=_LOAD_FACTS, reports_alive=True, takes_commands=True
    ),
    "jdbc": Engine(
        "steelyard.lab.engines.jdbc:run",
        _LOAD_TABLES,
        facts=_LOAD_FACTS,
        reports_alive=True,
        takes_commands=True,
    ),
    "latch": Engine(
        "steelyard._core:latch_run",
        _names("phases throughput latency clients errors samples latches latch_histograms"),
        facts=_names("threads busy_turn_ns clock_ns sampled_every spin in_turn sees_misses sees_sleeps")
        | _names("guarded exclusive_gets"),
        reports_alive=True,
    ),
    "dispatch": Engine(
        "steelyard.lab.engines.dispatcher:run",
        _names("phases throughput latency clients samples"),
        optional=_names("trace"),
        facts=_names("events"),
    ),
    "programs": Engine("steelyard.lab.engines.programs:run", _names("phases scores further_scores")),
    # the load engine and the kernel probes run in the guest
    "guest": Engine(
        "steelyard.lab.within_guest:run",
        _LOAD_TABLES,
        optional=_names("profile locks scheduling"),
        facts=_LOAD_FACTS,
    ),
}
