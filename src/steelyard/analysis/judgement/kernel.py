"""Results of the kernel's probes, one row per item of an option: functions, lock waits, scheduling."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProfileRow:
    """Where CPU time went: one function of one role, over all runs of an option.

    share: of all samples of the option, idle ones included. us_per_txn: CPU time per transaction.
    """

    option: str
    role: str
    function: str
    in_kernel: bool
    samples: int
    share: float
    us_per_txn: float | None


@dataclass(frozen=True)
class LockRow:
    """Waits for a kernel lock by an option, at one call site; of all of them where call_site is empty.

    None: not available. A kernel's tracepoints show waits only, neither acquisitions without a wait
    (so neither contention nor utilisation is known) nor hold times. cpu_percent: of all CPU time,
    spent spinning; None for locks whose waiters sleep.
    """

    option: str
    lock: str
    type: str
    call_site: str
    utilisation_percent: float | None
    contention_percent: float | None
    hold_mean_ns: float | None
    hold_max_ns: float | None
    wait_mean_ns: float | None
    wait_max_ns: float | None
    cpu_percent: float | None
    acquisitions: float | None
    contended: float | None
    contended_per_txn: float | None
    wait_us_per_txn: float | None


@dataclass(frozen=True)
class SchedulingRow:
    """How the scheduler treated the threads of a role, in a diagnostic phase.

    Each of three: median, 99th percentile, most; None where nothing of the kind was seen. off_cpu: from a
    voluntary switch to running again.
    """

    option: str
    role: str
    voluntary_per_s: float
    involuntary_per_s: float
    migrations_per_s: float
    run_queue_ns: list[float] | None
    slice_ns: list[float] | None
    off_cpu_ns: list[float] | None
