import math

import numpy as np
import pytest

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.comparison.effects import decompose, effects
from steelyard.analysis.judgement import Effect
from steelyard.analysis.metrics.run_metrics import THROUGHPUT, compute_run_metrics
from steelyard.study.plan import options

# Jain 1991, chapter 17: MIPS of a workstation by memory (4, 16 MB) and cache (1, 2 kB)
MEMORY_CACHE = [{"memory": memory, "cache": cache} for cache in ("1kB", "2kB") for memory in ("4MB", "16MB")]


def terms_of(values: np.ndarray, levels: list[dict[str, str]]) -> list[Effect]:
    return decompose("any", values, levels)


def by_factors(terms: list[Effect]) -> dict[tuple[str, ...], Effect]:
    return {term.factors: term for term in terms}


def logs(term: Effect) -> dict[tuple[str, ...], float]:
    return {codes: math.log(ratio) for codes, ratio in term.levels.items()}


def test_jains_memory_cache_example_is_reproduced():
    terms = by_factors(terms_of(np.array([[15.0, 45, 25, 75]]), MEMORY_CACHE))
    memory, cache, both = terms[("memory",)], terms[("cache",)], terms[("memory", "cache")]
    assert logs(memory) == pytest.approx({("4MB",): -20, ("16MB",): 20})
    assert logs(cache) == pytest.approx({("1kB",): -10, ("2kB",): 10})
    # 20 and 10 by themselves, 5 together
    assert logs(both)[("16MB", "2kB")] == pytest.approx(75 - 40)
    assert [round(100 * t.share) for t in (memory, cache, both)] == [76, 19, 5]


def test_jains_replicated_example_is_reproduced_but_for_blocks():
    # chapter 18: SSA 5547, SSB 1083, SSAB 300, SSE 102, of which our blocks take 10.5
    y = np.array([[15.0, 45, 25, 75], [18, 48, 28, 75], [12, 51, 19, 81]])
    terms = by_factors(terms_of(y, MEMORY_CACHE))
    squares = {factors: term.share * (5547 + 1083 + 300 + 102 - 10.5) for factors, term in terms.items()}
    assert squares == pytest.approx({("memory",): 5547, ("cache",): 1083, ("memory", "cache"): 300})


def test_one_block_allocates_but_tests_nothing():
    assert {t.p_value for t in terms_of(np.array([[15.0, 45, 25, 75]]), MEMORY_CACHE)} == {1.0}


def test_exclusions_do_not_make_an_additive_truth_interact():
    levels = [{"a": a, "b": b} for a in "123" for b in "xyz" if (a, b) not in (("3", "x"), ("2", "z"))]
    effect = {"1": 0.0, "2": 0.3, "3": 0.5, "x": 0.0, "y": -0.1, "z": -0.4}
    y = np.array([[effect[at["a"]] + effect[at["b"]] for at in levels]])
    terms = by_factors(terms_of(y, levels))
    assert terms[("a", "b")].share == pytest.approx(0, abs=1e-12)
    a = logs(terms[("a",)])
    assert a[("3",)] - a[("1",)] == pytest.approx(0.5)
    b = logs(terms[("b",)])
    assert b[("z",)] - b[("x",)] == pytest.approx(-0.4)


def test_a_factor_with_one_level_left_is_left_out():
    levels = [{"a": "1", "b": "x"}, {"a": "1", "b": "y"}]
    assert [t.factors for t in terms_of(np.array([[1.0, 2.0]]), levels)] == [("b",)]


def test_the_factor_that_matters_is_found_on_the_log_scale():
    study = study_of({"handle": ["H0", "H1"], "text": ["T0", "T1"]})
    truth = {
        o.label: Truth(throughput_per_s=1e4 * (2 if o.levels["handle"] == "H1" else 1))
        for o in options(study)
    }
    found = effects(compute_run_metrics(evidence_of(study, truth)), THROUGHPUT, options(study))
    assert found[0].factors == ("handle",)
    assert found[0].share > 0.95
    assert found[0].p_value < 1e-6
    assert found[0].levels[("H1",)] == pytest.approx(math.sqrt(2), rel=0.02)
    assert max(e.p_value for e in found[1:]) > 0.01
