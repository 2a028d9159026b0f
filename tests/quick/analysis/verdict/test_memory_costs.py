from evidence import Gauge, Truth, evidence_of, study_of
from steelyard.analysis.judge import judge

MIB = 2.0**20
MEMORY = ("processes", "server", "memory_bytes")


def consequence(a_mib: float, b_mib: float, scope: str = "server") -> str:
    study = study_of({"f": "AB"})
    factor = study.factors["f"].model_copy(update={"scope": scope})
    study = study.model_copy(update={"factors": {"f": factor}})
    memory = {
        label: Truth(throughput_per_s=per_s, gauges={MEMORY: Gauge(mib * MIB, mib * MIB, highest=mib * MIB)})
        for label, mib, per_s in (("A", a_mib, 10_000), ("B", b_mib, 12_000))
    }
    return judge(evidence_of(study, memory, noise=0.002)).verdict.consequence


def test_a_setting_of_the_server_says_what_it_takes_in_private_and_shared_memory():
    said = consequence(31.0, 117.3)
    assert said.startswith("B takes 86.3 MiB more memory than A (at most 117 MiB in use under B, private")
    assert "B takes 31.0 MiB less memory than A" in consequence(131.0, 100.0)


def test_memory_that_hardly_differs_is_not_a_cost():
    assert "memory" not in consequence(100.0, 101.0)


def test_what_pages_were_touched_is_not_the_cost_of_another_kind_of_factor():
    assert "memory" not in consequence(31.0, 117.3, scope="schema")
