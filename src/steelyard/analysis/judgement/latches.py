"""The figures of a latch: counted, derived, predicted; and of the kernel's probes, a row per item."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LatchRow:
    """One latch of an option at one number of clients: counters summed over runs; None: not available.

    gets, sleeps and wait per transaction: of all latches of that name; where gets are None, those per
    transaction were counted apart, in a diagnostic phase. spin_efficiency: share of misses
    that never slept; a lower bound, 1 - sleeps per miss, where spins are not counted. hold_ns: mean
    measured, or the effective hold that explains the misses (see hold_is_measured). children: latches
    that share the gets. spin: iterations before a miss sleeps, None: any. hand_overs: gets after another's.
    wait_ns: asleep; get_ns: of all gets, waited for or not. predicted: what the model expects of the measured
    holds; *_half: half the 95 % interval of its own chance.
    """

    option: str
    latch: str
    clients: int
    gets: float | None
    misses: float | None
    spin_gets: float | None
    sleeps: float | None
    wait_ns: float | None
    get_ns: float | None
    misses_per_get: float | None
    sleeps_per_miss: float | None
    gets_per_txn: float | None
    sleeps_per_txn: float | None
    wait_ns_per_txn: float | None
    wait_per_sleep_ns: float | None
    spin_efficiency: float | None
    hold_ns: float | None
    hold_is_measured: bool
    gets_per_s: float | None
    children: int
    spin: float | None
    hand_overs_per_s: float | None
    predicted_misses_per_get: float | None
    predicted_gets_per_s: float | None
    predicted_sleeps_per_miss: float | None = None
    predicted_gets_per_s_half: float | None = None
    predicted_misses_per_get_half: float | None = None
    predicted_sleeps_per_miss_half: float | None = None

    @property
    def sleeps_per_get(self) -> float | None:
        """A lower bound of misses per get, where misses cannot be seen."""
        if self.sleeps_per_txn is None or not self.gets_per_txn:
            return None
        return self.sleeps_per_txn / self.gets_per_txn

    @property
    def sleeps_only(self) -> bool:
        """Whether its sleeps at most could be seen while it was measured, as of a live PostgreSQL."""
        return self.gets is None and self.misses is None


@dataclass(frozen=True)
class WhatIf:
    """What the model expects of a latch if one thing were changed, at the most clients measured.

    *_half: half the 95 % interval of the model's own chance.
    """

    option: str
    latch: str
    clients: int
    change: str
    gets_per_s: float
    misses_per_get: float
    sleeps_per_miss: float
    wait_mean_ns: float
    gets_per_s_half: float
    misses_per_get_half: float


@dataclass(frozen=True)
class LatchCosts:
    """What the predictions take from this machine rather than from the latch.

    hand_over_ns: a cache line's way from one CPU to another, median of all measurements, with the least and
    the largest; measured: how many; cpus: between which; share: the nearest thing that both use (core, L2
    cache, socket ...), '' where not known. wake_ns, post_ns: of a sleeper on another, idle CPU that slept
    longest: until it tries again, and what the release cost.
    """

    hand_over_ns: float
    hand_over_min_ns: float
    hand_over_max_ns: float
    measured: int
    cpus: tuple[int, ...]
    share: str
    wake_ns: float | None
    post_ns: float | None


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
