"""What the Rust crates give to Python."""

from collections.abc import Callable, Sequence

__version__: str

class PlanError(Exception):
    """The plan cannot be run; the message names the field."""

class LoadError(Exception):
    """The run could not start or go on; the message says why, never with a password."""

def load_run(plan_json: str, on_event: Callable[[str], None]) -> str:
    """Runs one plan (crates/load/src/plan.rs) and returns its result as JSON.

    on_event gets lines of JSON: {"event": "phase", "phase", "point", "clients", "t_ns"} as each
    phase begins, {"event": "tick", "t_ns", "point", "phase", "transactions", "errors"} once a second
    (cumulative). Times are of CLOCK_MONOTONIC. The result holds columns: phases, throughput (seconds
    negative in the warm-up), latency (HdrHistogram V2, base64), clients, errors, inspect, engine.
    A transaction counts where it ends; what ends after the point's end is not counted.
    Raises PlanError, LoadError, and whatever on_event raises.
    """

def statement_parameters(sql: str) -> list[str]:
    """Names of the `:name` parameters in a statement, each once, in the order of their numbers."""

def stub_serve(address: str, config_json: str, ready: Callable[[], None]) -> None:
    """Serves at a socket path or ADDRESS:PORT, answering at once, until a signal raises.

    config_json: {"delay_us": 0, "stall": {"at_s": 2.0, "for_ms": 500}}; the stall begins at_s after
    the first request. Raises PlanError for a bad configuration, OSError when it cannot listen.
    """

def histogram_quantiles(encoded: bytes, quantiles: Sequence[float]) -> list[int]:
    """Values (ns) at quantiles 0..1 of an encoded histogram. Raises ValueError."""

def histogram_summary(encoded: bytes) -> tuple[int, int, float, int]:
    """Count, lowest, mean, highest (ns). Raises ValueError."""

def histogram_merge(encoded: Sequence[bytes]) -> bytes:
    """One histogram of several. Raises ValueError."""
