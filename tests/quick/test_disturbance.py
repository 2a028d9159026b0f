"""Work of others on the study's CPUs: the rule, and what the verdict says."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laboratory import Lab, small_study

from evidence import Truth, changed, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.validity.disturbance import disturbance_notices, disturbed
from steelyard.bundle.evidence import Evidence
from steelyard.monitors import Target
from steelyard.monitors.system.disturbance import DisturbanceMonitor
from steelyard.quantities import ranges
from steelyard.run_tables.disturbance import CpuUse, Disturbance, disturbance
from steelyard.study.host_settings import cpus_by_role
from steelyard.study.plan import redone_blocks_max
from steelyard.study.study import Plan, Study
from steelyard.workflow.session import busy_machine

SERVER, ENGINE = frozenset({0}), frozenset({1})
CPUS = {"server": SERVER, "engine": ENGINE}


def rates(**cpus: float) -> dict[tuple[str, str, str], float]:
    """Of a quiet run, in CPUs: the server on CPU 0 and the engine on CPU 1; changes by name."""
    known = {
        "server": 0.8, "engine": 0.4, "monitors": 0.01, "server_waits": 0.1, "engine_waits": 0.02,
        "cpu0": 0.81, "cpu1": 0.42, "steal0": 0.0, "kernel": 0.0, "throttled": 0.0,
    } | cpus  # fmt: skip
    table = {
        **{("processes", role, "cpu_ns_total"): known[role] for role in ("server", "engine", "monitors")},
        ("processes", "server", "runqueue_wait_ns_total"): known["server_waits"],
        ("processes", "engine", "runqueue_wait_ns_total"): known["engine_waits"],
        ("host", "cpu0", "steal_ns_total"): known["steal0"],
        ("disturbance", "kernel-threads", "cpu_ns_total"): known["kernel"],
        ("disturbance", "control-group", "throttled_ns_total"): known["throttled"],
        ("disturbance", "other:rustc", "cpu_ns_total"): 1.4,
        ("disturbance", "other:sshd", "cpu_ns_total"): 0.01,
    }
    for cpu in ("cpu0", "cpu1"):
        table["host", cpu, "user_ns_total"] = known[cpu]
        table["host", cpu, "system_ns_total"] = table["host", cpu, "nice_ns_total"] = 0.0
    return {key: value * 1e9 for key, value in table.items()}


def judged(seconds: float = 10.0, **cpus: float) -> Disturbance | None:
    return disturbance(rates(**cpus), seconds, CPUS)


def test_a_quiet_run_is_not_disturbed() -> None:
    assert judged() is None


def test_a_server_saturated_by_its_own_clients_is_not_disturbed() -> None:
    assert judged(server=0.99, server_waits=63.0, cpu0=1.0) is None


def test_outsiders_on_both_cpus_disturb_and_the_largest_are_named() -> None:
    found = judged(server=0.3, server_waits=2.4, cpu0=1.0, engine=0.2, engine_waits=0.7, cpu1=1.0)
    assert found is not None
    assert (found.role, found.cause, found.largest) == ("server", "other processes", (("rustc", 1.4),))
    # 0.69 of a CPU was taken while the server waited: 0.69 of the 0.99 that it could have used
    assert found.share == pytest.approx(0.69 / 0.99)
    assert found.sentence("server", "in run 3") == (
        "in run 3 the server's tasks together waited 6.90 s in 10 s for a CPU that other processes used"
        " (rustc 1.4 CPUs): 69.7 % of the CPU time that they wanted"
    )


def test_the_load_engine_alone_can_be_disturbed() -> None:
    found = judged(engine=0.3, engine_waits=0.6, cpu1=1.0)
    assert found is not None
    assert "the load engine's tasks together waited" in found.sentence("server")


def test_outsiders_on_cpus_that_nobody_of_ours_wanted_do_no_harm() -> None:
    assert judged(server=0.2, server_waits=0.005, cpu0=0.9) is None


def test_steal_disturbs_though_no_thread_waits_meanwhile() -> None:
    found = judged(server=0.5, steal0=0.4, server_waits=0.0, cpu0=0.52)
    assert found is not None
    assert (found.cause, found.share) == ("other guests", pytest.approx(0.4 / 0.9))
    assert "that the hypervisor gave to other guests" in found.sentence("server")


def test_a_cpu_limit_around_the_lab_disturbs() -> None:
    found = judged(server=0.2, server_waits=5.0, cpu0=0.21, throttled=0.7)
    assert found is not None
    assert "the CPU limit of its control group withheld" in found.sentence("server")


def test_a_load_engine_that_hardly_works_is_not_disturbed_by_a_wait_of_milliseconds() -> None:
    # 0.9 % of a CPU, and 86 % of what the engine wanted
    assert judged(engine=0.0015, engine_waits=0.009, cpu1=0.3) is None
    found = judged(engine=0.0035, engine_waits=0.021, cpu1=0.3)
    assert found is not None and found.role == "engine"


def test_runs_that_a_cpu_limit_held_back_blame_no_others_and_no_noise() -> None:
    evidence = in_turns(0.0, 0.0, limit=0.7)
    for turns in (evidence.view("turns"), {**evidence.view("turns"), "run": np.asarray([])}):
        notices = disturbance_notices(changed(evidence, turns=turns), disturbed(evidence))
        assert notices and all("the CPU limit of the lab's control group withheld" in n.text for n in notices)
        assert not any("others used" in n.text or "quiet" in n.text for n in notices)
    assert "under a higher limit" in notices[0].text


def test_kernel_threads_that_write_back_for_the_study_are_no_outsiders() -> None:
    assert judged(server=0.7, server_waits=9.0, cpu0=1.0, kernel=0.29) is None


def test_what_ticks_cannot_tell_in_a_second_is_told_in_ten() -> None:
    use = CpuUse(cpus=1, seconds=1.0, outside=0.13, own=0.6, used=0.6, waited=1.0)
    assert use.share == 0
    assert replace(use, seconds=10.0).share == pytest.approx(0.13 / 0.73)


def test_pressure_stands_in_where_the_kernel_gives_no_run_queue_wait() -> None:
    def without_waits(pressure: float) -> Mapping[tuple[str, str, str], float]:
        found = rates(server=0.3, cpu0=1.0)
        found = {key: rate for key, rate in found.items() if key[2] != "runqueue_wait_ns_total"}
        return {**found, ("host", "psi:cpu", "some_ns_total"): pressure * 1e9}

    assert disturbance(without_waits(0.01), 10.0, CPUS) is None
    assert disturbance(without_waits(0.8), 10.0, CPUS) is not None


@pytest.mark.parametrize("gone", ["server", "cpu0"])
def test_without_the_server_or_its_cpus_in_sight_nothing_is_judged(gone: str) -> None:
    found = rates(server=0.1, server_waits=9.0, cpu0=1.0, engine=0.1, engine_waits=0.9, cpu1=1.0)
    left = {key: rate for key, rate in found.items() if key[1] != gone}
    one = disturbance(left, 10.0, CPUS)
    assert one is None or (gone == "cpu0" and one.role == "engine")


def test_a_factor_that_moves_the_server_moves_the_cpus_that_count() -> None:
    found = cpus_by_role({"server.cpuset": "2-3", "engine.cpus": "0"}, SERVER, ENGINE)
    assert (found["server"], found["engine"]) == (frozenset({2, 3}), frozenset({0}))


# in CPUs, as nanoseconds of 1 s give them: a product of the smallest floats would be 0
part = st.integers(0, 10**9).map(lambda ns: ns / 1e9)


many = st.integers(0, 64 * 10**9).map(lambda ns: ns / 1e9)


@given(outside=part, own=part, waited=many, stolen=part, throttled=part, more=st.floats(0.0, 10.0))
def test_a_share_lies_between_0_and_1_and_grows_with_what_was_taken(
    outside: float, own: float, waited: float, stolen: float, throttled: float, more: float
) -> None:
    use = CpuUse(1, 10.0, outside, own, own, waited, stolen, throttled)
    assert 0 <= use.share <= 1
    assert replace(use, throttled=throttled + more).share >= use.share - 1e-9
    assert replace(use, waited=waited + more).share >= use.share - 1e-9
    # whatever our own threads wait for one another, it is nothing without outsiders
    assert replace(use, outside=0.0, stolen=0.0, throttled=0.0).share == 0
    # nor is it more than what was taken
    taken = outside + throttled + stolen
    assert use.share <= taken / (taken + own) + 1e-9 if taken + own else True


def beside_others(*, share: float = 0.8) -> Evidence:
    """A at peace; B beside outsiders that take this share of the server's CPU, which it waits for."""
    us = {("host", f"cpu{cpu}", f"{mode}_ns_total"): 0.0 for cpu in (0, 1) for mode in ("nice", "system")}
    quiet = {**us, ("host", "cpu0", "user_ns_total"): 0.46e9, ("host", "cpu1", "user_ns_total"): 0.06e9}
    waits = ("processes", "server", "runqueue_wait_ns_total")
    noisy = {**quiet, ("host", "cpu0", "user_ns_total"): (0.2 + share) * 1e9, waits: share * 1e9}
    truth = {"A": Truth(counters=quiet), "B": Truth(throughput_per_s=4_000, counters=noisy)}
    evidence = evidence_of(study_of({"f": "AB"}), truth, noise=0.0, block_noise=0.0)
    return replace(evidence, placement={"server": SERVER, "engine": ENGINE})


def test_the_verdict_says_first_which_runs_were_disturbed() -> None:
    found = judge(beside_others())
    first, *_ = found.verdict.reasons
    assert first.startswith("Disturbed: in run ") and "the server's tasks together waited " in first
    assert first.endswith("; 5 more of the 12 runs that count were disturbed.")
    (notice,) = [notice for notice in found.notices if notice.code == "disturbed"]
    assert notice.subject == "B" and len(notice.runs) == 6
    # every run is named, of more than four with the span of what they lost
    assert notice.detail.endswith(f" in runs {ranges(notice.runs)}") and " more" not in notice.detail


def in_turns(a: float, b: float, limit: float = 0.0) -> Evidence:
    """Both options beside outsiders that take these shares of the server's CPU, or a CPU limit that does."""
    lost = {
        (label, key): rate
        for label, share in (("A", a), ("B", b))
        for key, rate in (
            (("host", "cpu0", "user_ns_total"), (0.46 + share) * 1e9),
            (("processes", "server", "runqueue_wait_ns_total"), (share + limit) * 1e9),
            (("disturbance", "control-group", "throttled_ns_total"), limit * 1e9),
        )
    }
    truth = {
        label: Truth(
            counters={
                **{
                    ("host", f"cpu{cpu}", f"{mode}_ns_total"): 0.0
                    for cpu in (0, 1)
                    for mode in ("nice", "system")
                },
                ("host", "cpu1", "user_ns_total"): 0.06e9,
                **{key: rate for (option, key), rate in lost.items() if option == label},
            }
        )
        for label in "AB"
    }
    evidence = evidence_of(study_of({"f": "AB"}), truth, noise=0.0, block_noise=0.0)
    one = {"run": [1], "point": [0], "deal": [1], "round": [1], "position": [1], "start_ns": [0],
           "transactions": [1], "first_half": [1]}  # fmt: skip
    turns = {name: np.asarray(values) for name, values in one.items()}
    return changed(evidence, placement={"server": SERVER, "engine": ENGINE}, turns=turns)


def test_what_disturbance_does_to_ratios_between_turns_follows_from_what_each_option_lost() -> None:
    texts: list[str] = []
    for a, b in ((0.6, 0.6), (0.6, 0.1), (0.0, 0.6)):
        evidence = in_turns(a, b)
        texts.append(disturbance_notices(evidence, disturbed(evidence))[0].text)
    alike, first, second = texts
    assert "took turns and lost about the same share: trust ratios more" in alike
    assert "though the options took turns, A lost " in first and "less favourable to A than" in first
    assert "though the options took turns, B lost " in second and "less favourable to B than" in second
    assert "alike" not in first + second and "trust ratios" not in first + second


def test_turns_too_short_to_be_judged_have_no_notice_on_disturbance() -> None:
    evidence = replace(in_turns(0.6, 0.6), placement={})
    assert disturbance_notices(evidence, disturbed(evidence)) == []


def test_one_run_has_one_cause_with_one_cpu_share_on_a_page() -> None:
    redone = {
        "run": [2], "block": [1], "status": ["disturbed"], "studies": [0], "used": [True],
        "cause": ["under option B the lab saw python 0.9 CPUs"],
    }  # fmt: skip
    evidence = beside_others()
    run = max(disturbed(evidence).found)
    redone["run"] = [run]
    table = {name: np.asarray(values) for name, values in redone.items()}
    found = judge(changed(evidence, redone=table))
    (notice,) = [n for n in found.notices if n.code == "block-redone"]
    cause = disturbed(evidence).found[run].sentence("server", "under option B")
    assert cause in notice.text and "0.9 CPUs" not in notice.text


def test_the_verdict_names_the_run_that_lost_most_cpu_time_not_the_largest_share() -> None:
    us = {("host", f"cpu{cpu}", f"{mode}_ns_total"): 0.0 for cpu in (0, 1) for mode in ("nice", "system")}
    server, engine = (("processes", role, "runqueue_wait_ns_total") for role in ("server", "engine"))
    cpu0, cpu1 = (("host", cpu, "user_ns_total") for cpu in ("cpu0", "cpu1"))
    idle_engine = {**us, cpu0: 0.46e9, cpu1: 0.2e9, engine: 0.14e9}
    busy_server = {**us, cpu0: 0.5e9, cpu1: 0.06e9, server: 0.3e9}
    truth = {"A": Truth(counters=idle_engine), "B": Truth(throughput_per_s=4_000, counters=busy_server)}
    evidence = evidence_of(study_of({"f": "AB"}), truth, noise=0.0, block_noise=0.0)
    found = disturbed(replace(evidence, placement={"server": SERVER, "engine": ENGINE}))
    roles = {one.role: one for one in found.found.values()}
    assert roles["engine"].share > roles["server"].share
    assert roles["engine"].lost_s < roles["server"].lost_s
    assert "the server's tasks together waited" in found.sentence


def test_a_block_that_was_run_again_is_one_notice() -> None:
    redone = {
        "run": [6, 5, 9, 3], "block": [3, 3, 5, 2], "cause": ["y", "x", "z", "it stood still"],
        "studies": [0, 0, 0, 0], "used": [False, False, True, False],
        "status": ["disturbed", "disturbed", "disturbed", "void"],
    }  # fmt: skip
    evidence = changed(beside_others(share=0.0), redone={n: np.asarray(v) for n, v in redone.items()})
    found = [n for n in judge(evidence).notices if n.code == "block-redone"]
    assert [(notice.runs, notice.text.partition("; ")[0]) for notice in found] == [
        ((5, 6), "block 3 was run again, as runs 5 and 6 were disturbed: in run 5 x"),
        ((9,), "block 5 was run again, as run 9 was disturbed: z"),
        ((3,), "block 2 was run again, as run 3 was void: it stood still"),
    ]
    assert "it counts, as the repetition" in found[1].text and "it counts" not in found[0].text


def test_another_study_beside_a_run_that_was_redone_is_in_its_notice() -> None:
    redone = {
        "run": [5, 6], "block": [3, 3], "cause": ["x", "y"], "studies": [1, 0], "used": [False, False],
        "status": ["disturbed", "disturbed"],
    }  # fmt: skip
    evidence = changed(
        beside_others(share=0.0), redone={name: np.asarray(values) for name, values in redone.items()}
    )
    (notice,) = [n for n in judge(evidence).notices if n.code == "another-study"]
    assert notice.runs == (5,)


def test_a_bundle_without_disturbed_runs_says_nothing_of_it() -> None:
    found = judge(beside_others(share=0.0))
    assert disturbed(beside_others(share=0.0)).found == {}
    assert not [notice for notice in found.notices if notice.code in ("disturbed", "block-redone")]
    assert not [reason for reason in found.verdict.reasons if reason.startswith("Disturbed")]


def test_an_interval_that_says_nothing_is_put_in_words() -> None:
    wild = {1: 2_700.0, 2: 1.0}
    truth = {"A": Truth(), "B": Truth(throughput_per_s=16)}
    evidence = evidence_of(
        study_of({"f": "AB"}), truth, blocks=2, noise=0.0, block_noise=0.0,
        factor=lambda block, option: wild[block] if option == "B" else 1.0,
    )  # fmt: skip
    interval = judge(evidence).verdict.interval
    assert "hroughput cannot be judged from 2 blocks: the runs of B differ by a factor of 2,7" in interval
    assert "0.000 to" not in interval


@pytest.mark.parametrize(
    ("blocks", "policy", "keeps", "most"),
    [
        (1, "redo", True, 1),
        (9, "redo", False, 4),
        (9, "keep", False, 0),
        (9, "auto", False, 4),
        (9, "auto", True, 0),
    ],
)
def test_at_most_half_of_the_planned_blocks_are_redone(
    blocks: int, policy: str, keeps: bool, most: int
) -> None:
    assert redone_blocks_max(Plan.model_validate({"blocks": blocks, "disturbed": policy}), keeps) == most


def test_limits_of_all_groups_around_the_lab_are_read(tmp_path: Path) -> None:
    proc, group = tmp_path / "proc", tmp_path / "sys/fs/cgroup/user/lab"
    (proc / "self").mkdir(parents=True)
    group.mkdir(parents=True)
    (proc / "self/cgroup").write_text("0::/user/lab\n")
    (group / "cpu.stat").write_text("usage_usec 9\nthrottled_usec 5\n")
    (group.parent / "cpu.stat").write_text("usage_usec 9\nthrottled_usec 2\n")
    (group / "cpu.pressure").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=250\n")
    monitor = DisturbanceMonitor(proc, tmp_path / "sys")
    monitor.open(Target())
    found = {(entity, metric): value for entity, metric, value in monitor.read()}
    assert found["control-group", "throttled_ns_total"] == 7_000
    assert found["control-group", "some_ns_total"] == 250_000


def test_a_load_average_counts_while_others_run_now(tmp_path: Path) -> None:
    def put(text: str) -> None:
        """At once, as the kernel does: a reader never meets half of it."""
        (tmp_path / "new").write_text(text)
        (tmp_path / "new").rename(tmp_path / "loadavg")

    def said(text: str) -> str:
        put(text)
        return busy_machine(tmp_path)

    assert said("99.00 9.00 9.00 7/122 4711\n").startswith("load average 99.0 on ")
    # what waits for a disk runs at times only
    put("99.00 9.00 9.00 1/122 4711\n")
    more = threading.Timer(0.05, put, ["99.00 9.00 9.00 3/122 4711\n"])
    more.start()
    assert busy_machine(tmp_path).startswith("load average 99.0 on ")
    more.join()
    # our own last study, a minute ago
    assert said("99.00 9.00 9.00 1/122 4711\n") == ""
    assert said("0.01 9.00 9.00 2/122 4711\n") == ""


def test_a_process_of_our_name_is_named_as_another_one() -> None:
    found = Disturbance(
        "engine", 0.514, "other processes", 2.0, 5.0, (("steelyard", 0.087), ("postgres", 0.05))
    )
    assert "(another steelyard process 0.087 CPUs and postgres 0.050 CPUs)" in found.sentence("server")


def test_a_program_is_no_server_in_what_is_said_of_its_disturbance() -> None:
    of_programs = {
        "name": "programs",
        "question": "Which is quicker?",
        "plan": {"clients": [1], "warm_up_s": 0},
        "subject": {"kind": "program"},
        "workload": {"kind": "program", "command": ["true"]},
    }
    workload = Study.model_validate(of_programs).workload
    study = study_of({"f": "AB"}).model_copy(update={"workload": workload})
    evidence = replace(beside_others(share=0.5), study=study)
    found = disturbed(evidence)
    assert "the program's tasks together waited" in found.sentence
    texts = [notice.text for notice in disturbance_notices(evidence, found)]
    assert texts and not [text for text in (found.sentence, *texts) if "server" in text]


def test_what_needs_monitors_that_the_study_leaves_out_is_refused(lab: Lab) -> None:
    study = small_study(lab.folder)
    study.write_text(study.read_text().replace("[plan]", '[plan]\ndisturbed = "stop"'))
    done = lab.run("run", study, "--dry-run")
    assert done.returncode == 2
    assert "plan.disturbed: has no effect" in done.stderr and "[monitors]" in done.stderr
