import pytest

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.comparison.intervals import Intervals
from steelyard.analysis.comparison.pairwise import metrics_that_count, pairwise
from steelyard.analysis.judgement import CostDifference
from steelyard.analysis.metrics.run_metrics import compute_run_metrics
from steelyard.analysis.verdict import findings as why
from steelyard.analysis.verdict.costs import Costs

STUDY = study_of({"f": "AB"})
MARGIN = 0.03
CHEAPER = Truth(throughput_per_s=16_000, user_us=20, system_us=8, switches=0.6)


def intervals(of) -> Intervals:
    return Intervals(of, "AB", metrics_that_count(STUDY, of), MARGIN, 0.05)


def reasons(of, closed_loop: bool = True) -> tuple[str, ...]:
    found = intervals(of)
    return why.reasons(Costs(found), pairwise(STUDY, found, "A").pairs["B", "A"], closed_loop)


def costs_of(of) -> tuple[CostDifference, ...]:
    found = intervals(of)
    return Costs(found).differences([pairwise(STUDY, found, "A").pairs["B", "A"]])


def run_metrics(a: Truth, b: Truth, **more):
    return compute_run_metrics(evidence_of(STUDY, {"A": a, "B": b}, **more))


def test_parts_of_cpu_are_shares_of_its_whole_difference():
    costs = {c.metric: c for c in costs_of(run_metrics(Truth(), CHEAPER, noise=0.001))}
    cpu, user = costs["server_cpu_us_per_txn"], costs["server_user_us_per_txn"]
    assert (cpu.before, cpu.after) == pytest.approx((45, 28), rel=0.01)
    assert cpu.low < cpu.after - cpu.before < cpu.high < 0
    assert cpu.share == 1
    assert user.share == pytest.approx(10 / 17, abs=0.01)
    assert costs["server_system_us_per_txn"].share == pytest.approx(7 / 17, abs=0.01)
    assert (cpu.unit, costs["server_switches_voluntary_per_txn"].unit) == ("us", "1")


def test_no_share_is_given_of_a_difference_that_is_not_there():
    costs = costs_of(run_metrics(Truth(), Truth(), seed=3))
    assert {c.share for c in costs} == {None}


def test_the_saving_is_told_with_its_modes_and_what_it_would_allow():
    cpu, pace, *rest = reasons(run_metrics(Truth(), CHEAPER, noise=0, block_noise=0))
    assert cpu.startswith("B saves 17.0 µs of server CPU per transaction against A (−37.8 %")
    assert "10.0 µs less in user mode and 7.00 µs less in system mode" in cpu
    assert pace == (
        "Were server CPU the only limit, throughput would be 1.61 times that of A; 1.60 times was measured."
    )
    assert any("Voluntary switches of the server: 0.600 per transaction under B, 1.00" in r for r in rest)


def test_costs_that_do_not_differ_are_not_told_as_if_they_did():
    said = reasons(run_metrics(Truth(), Truth(), seed=3))
    assert len(said) == 1
    assert "no difference is shown" in said[0]


def test_open_loop_says_nothing_of_throughput():
    said = reasons(run_metrics(Truth(), CHEAPER), closed_loop=False)
    assert not any("throughput" in sentence for sentence in said)


def test_waits_are_session_time_a_transaction():
    def waiting(sessions: float) -> Truth:
        seen = {("postgres-waits", "Lock:tuple", "samples_total"): 10 * sessions}
        readings = {("postgres-waits", "sessions", "readings_total"): 10.0}
        return Truth(counters={**(seen if sessions else {}), **readings})

    costs = costs_of(run_metrics(waiting(0), waiting(0.5), noise=0, block_noise=0))
    (wait,) = [c for c in costs if c.metric == "wait_lock_us_per_txn"]
    # half a session waiting all the time, at 10,000 transactions a second
    assert (wait.before, wait.after) == pytest.approx((0, 50))


def test_units_are_steps_that_suit_the_cost():
    slow = Truth(throughput_per_s=10, user_us=40_000, system_us=5_000)
    quick = Truth(throughput_per_s=10, user_us=20_000, system_us=5_000)
    assert "saves 20.0 ms of server CPU" in reasons(run_metrics(slow, quick, noise=0))[0]


def told(before: Truth, after: Truth) -> str:
    """All that is said; the runs do not scatter, so every difference is proven."""
    return "\n".join(reasons(run_metrics(before, after, noise=0, block_noise=0)))


def counting(monitor: str, entity: str, counter: str, a_transaction: float) -> Truth:
    """45 us of CPU per transaction, 10,000 transactions a second, and a counter."""
    return Truth(counters={(monitor, entity, counter): 10_000 * a_transaction})


@pytest.mark.parametrize(
    ("name", "counter", "small", "large"),
    [
        ("WAL", ("postgres", "wal", "bytes_total"), (0.007, 0.020), (40, 120)),
        ("Blocks read", ("postgres", "database", "blocks_read_total"), (0.01, 0.1), (2.0, 1.0)),
        ("Pages read", ("mariadb", "buffer pool", "reads_total"), (0.01, 0.1), (2.0, 1.0)),
        ("Bytes read", ("processes", "server", "read_bytes_total"), (10, 80), (1_000, 8_192)),
        ("Bytes written", ("processes", "server", "written_bytes_total"), (10, 80), (1_000, 8_192)),
        ("Voluntary", ("processes", "server", "voluntary_switches_total"), (0.01, 0.09), (1.0, 1.5)),
        ("Involuntary", ("processes", "server", "involuntary_switches_total"), (0.01, 0.09), (0.1, 0.4)),
        # 3 % of 45 us of server CPU is 1.35 us
        ("Run-queue", ("processes", "server", "runqueue_wait_ns_total"), (100, 1_300), (2_000, 4_000)),
        ("Load engine", ("processes", "engine", "cpu_ns_total"), (1_000, 2_300), (5_000, 8_000)),
    ],
)
def test_a_cost_is_a_reason_only_where_its_difference_is_material(
    name: str, counter: tuple[str, str, str], small: tuple[float, float], large: tuple[float, float]
) -> None:
    assert name not in told(*(counting(*counter, value) for value in small))
    assert name in told(*(counting(*counter, value) for value in large))


def test_cpu_that_differs_by_less_than_matters_is_no_saving():
    # 44.5 of 45 us: 1.1 %, and proven since nothing scatters
    said = told(Truth(), Truth(user_us=29.5))
    assert said == (
        "Server CPU per transaction differs too little to matter: 44.5 µs under B, 45.0 µs under A (−1.11 %)."
    )


def test_a_mode_that_hardly_differs_is_left_out_of_the_saving():
    said = told(Truth(), Truth(user_us=20, system_us=14.9))
    assert "10.0 µs less in user mode" in said
    assert "system mode" not in said


def test_the_scheduler_s_share_of_a_slower_tail_is_told_where_the_loop_is_closed():
    long = Truth(p99_ns=11_000_000, runqueue_wait_us=900, switches=0.4)
    said = reasons(run_metrics(Truth(), long))
    assert any(s.startswith("Latency p99: 1") and s.endswith("higher).") for s in said)
    assert any(s.startswith("Run-queue wait of the server: ") and "transaction under B" in s for s in said)
    assert any(s.startswith("Voluntary switches of the server: ") and "fewer)" in s for s in said)
    assert not any("p99" in s for s in reasons(run_metrics(Truth(), long), closed_loop=False))
    same = [reasons(run_metrics(Truth(), Truth(), seed=n)) for n in range(15)]
    assert sum(any("p99" in s for s in sentences) for sentences in same) <= 1


def test_what_is_counted_has_room_beside_the_times_and_what_costs_more_comes_first():
    def truth(user_us: float, reads: float, wal: float, wait_us: float) -> Truth:
        seen = {
            ("postgres-waits", f"{kind}:any", "samples_total"): wait_us
            for kind in ("IO", "Lock", "IPC", "BufferPin")
        }
        return Truth(
            user_us=user_us,
            runqueue_wait_us=wait_us,
            p99_ns=int(wait_us * 1e4),
            counters={
                **seen,
                ("postgres-waits", "sessions", "readings_total"): 10.0,
                ("postgres", "database", "blocks_read_total"): 10_000 * reads,
                ("postgres", "wal", "bytes_total"): 10_000 * wal,
            },
        )

    said = reasons(run_metrics(truth(30, 2, 800, 900), truth(15, 0, 1_000, 300), noise=0, block_noise=0))
    assert [s.split(":")[0] for s in said[-2:]] == ["WAL", "Blocks read into shared buffers"]
    assert said[-1].endswith("0 per transaction under B, 2.00 under A (100 % fewer).")
    assert len(said) == 7
