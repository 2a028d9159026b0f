"""`steelyard compare`: absolute values, all tests corrected, a page."""

from __future__ import annotations

import html
import io
import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from rich.console import Console

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.bundles import BundleComparison, Named, compare_bundles
from steelyard.analysis.comparison.across import Pair, holds, no_platforms
from steelyard.analysis.comparison.unlike import differences, paired, refuse_without_pairs, unlike_work
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Comparison, Estimate, Judgement
from steelyard.analysis.metrics.run_metrics import THROUGHPUT
from steelyard.analysis.statistics.distributions import holm, holm_levels
from steelyard.analysis.validity.disturbance import Disturbed
from steelyard.bundle.series.read import Series
from steelyard.errors import InputError
from steelyard.report.about import About, Phases
from steelyard.report.page import comparison
from steelyard.report.tables import bundles
from steelyard.run_tables.disturbance import Disturbance
from steelyard.study.study import Study
from steelyard.workflow.compare import print_bundle_comparison

STUDY = study_of({"f": "AB"}, clients=(2, 8))


def bundle(name: str, a: Truth, b: Truth, seed: int, noise: float = 0.01) -> Named:
    return name, evidence_of(STUDY, {"A": a, "B": b}, seed=seed, noise=noise), {}


@pytest.fixture(scope="module")
def named() -> list[Named]:
    quicker = Truth(throughput_per_s=15_000, user_us=20)
    return [
        bundle("here", Truth(), Truth(), 1),
        bundle("there", Truth(), quicker, 2),
        bundle("again", Truth(), Truth(), 3),
    ]


@pytest.fixture(scope="module")
def found(named: list[Named]) -> list[BundleComparison]:
    return compare_bundles(named[0], named[1:])


def render(found: list[BundleComparison], *named: Named) -> str:
    judged = {name: judge(evidence) for name, evidence, _ in named or (bundle("one", Truth(), Truth(), 9),)}
    about = About("study", "Which?", "", "here", "1", Phases((2, 8), 0, 1, 0, 6, 1), 6)
    presented = comparison.as_one(judged, [(Series(), {})] * len(judged), about)
    return comparison.render(found, [], "", presented)


def printed(found: BundleComparison) -> str:
    out = io.StringIO()
    print_bundle_comparison(found, Console(file=out, width=100))
    return out.getvalue()


def one_option(name: str, label: str, truth: Truth, seed: int, blocks: int = 6) -> Named:
    study = study_of({"f": (label, "OTHER")}, clients=(2, 8))
    return name, evidence_of(study, {label: truth}, seed=seed, blocks=blocks), {}


def test_a_single_option_of_each_is_the_same_and_several_are_paired_by_name() -> None:
    here, there = one_option("here", "X", Truth(), 1), one_option("there", "Y", Truth(), 2)
    (found,) = compare_bundles(*split(paired([here, there], {})))
    assert {one.option for one in found.comparisons} == {"X"}
    both = bundle("both", Truth(), Truth(), 3)
    (found,) = compare_bundles(*split(paired([both, there], {})))
    with pytest.raises(InputError, match="A, B only in both, Y only in there"):
        refuse_without_pairs(both, there, bool(found.comparisons))
    (found,) = compare_bundles(*split(paired([both, there], {"Y": "B"})))
    assert {one.option for one in found.comparisons} == {"B"}
    for names, words in (({"Z": "B"}, "no such option"), ({"Y": "Z"}, "no such option")):
        with pytest.raises(InputError, match=words):
            paired([both, there], names)
    with pytest.raises(InputError, match="two options one name"):
        paired([both, both], {"A": "B"})


def split(named: list[Named]) -> tuple[Named, list[Named]]:
    return named[0], named[1:]


def test_one_run_each_is_not_tested() -> None:
    once = [one_option(name, "X", Truth(), seed, blocks=1) for seed, name in enumerate(("here", "there"))]
    (found,) = compare_bundles(once[0], once[1:])
    assert found.tests == 0
    assert {one.standing for one in found.comparisons} == {"not tested"}
    text = printed(found)
    assert (
        not re.search("~|Holm|no interval]|p, corrected|[?] ", text) and "one run each: no interval" in text
    )


def test_values_are_those_of_the_bundles_own_reports(
    named: list[Named], found: list[BundleComparison]
) -> None:
    levels = [
        {(e.metric, e.option, e.clients): e for e in judge(evidence).estimates}
        for _, evidence, _ in named[:2]
    ]
    for c, here, there in zip(found[0].comparisons, found[0].levels_here, found[0].levels_there, strict=True):
        key = c.metric, c.option, c.clients
        assert (here, there) == (levels[0][key], levels[1][key])
        assert c.ratio == pytest.approx(there.value / here.value)
    text = printed(found[0])
    (row,) = [line for line in text.splitlines() if re.match(r"▲ +B +8 ", line) and "/s" in line]
    assert re.search(r"8 +\d\d,\d00/s +\d\d,\d00/s +1\.\d+ \[", row)


def test_values_of_a_bundle_that_lost_a_run_are_still_those_of_its_report() -> None:
    lost = evidence_of(STUDY, {"A": Truth(), "B": Truth()}, void=[(2, "B")], block_noise=0.5)
    (found,) = compare_bundles(bundle("here", Truth(), Truth(), 1), [("there", lost, {})])
    by_key = {(e.metric, e.option, e.clients): e for e in judge(lost).estimates}
    assert all(e == by_key[e.metric, e.option, e.clients] for e in found.levels_there)


def test_all_tests_that_are_printed_are_corrected_together(found: list[BundleComparison]) -> None:
    # throughput, p99 and CPU, of two options at two load points, in two bundles
    assert {one.tests for one in found} == {3 * 2 * 2 * 2} == {sum(len(one.comparisons) for one in found)}
    for c in (c for one in found for c in one.comparisons):
        assert (c.low > 1 or c.high < 1) == (c.p_value < 0.05)
        assert (c.outcome in ("better", "worse")) <= (c.p_value < 0.05)
    assert "corrected for 24 tests (Holm)" in " ".join(printed(found[0]).split())
    throughput = [c for c in found[0].comparisons if c.metric == "throughput_per_s" and c.option == "B"]
    assert {c.outcome for c in throughput} == {"better"}


def subject(**keys: object) -> Study:
    return STUDY.model_copy(update={"subject": STUDY.subject.model_copy(update=keys)})


def test_settings_and_version_are_what_is_compared_and_are_named() -> None:
    here, there = subject(settings={"shared_buffers": "16MB"}), subject(settings={"shared_buffers": "256MB"})
    truth = {"A": Truth(), "B": Truth()}
    mine, theirs = evidence_of(here, truth, seed=1), evidence_of(there, truth, seed=2)
    assert not list(unlike_work(("here", mine, {}), ("there", theirs, {})))
    (found,) = compare_bundles(
        ("here", mine, {"server": {"version": "15.18"}}),
        [("there", theirs, {"server": {"version": "18.6"}})],
    )
    assert found.differences == (
        "server version: 15.18 here, 18.6 there",
        "subject.settings.shared_buffers: 16MB here, 256MB there",
    )
    assert not found.unlike_work and {notice.code for notice in found.notices} == {"not-interleaved"}
    page = render([found])
    assert "Bundles of the same work" in page
    for difference in found.differences:
        assert difference in " ".join(printed(found).split()) and difference in page


def test_a_version_per_option_is_named_where_it_differs() -> None:
    def servers(*versions: str) -> dict[str, dict[str, object]]:
        by_option = {label: {"version": version} for label, version in zip("AB", versions, strict=True)}
        return {"server": by_option["A"], "servers": by_option}

    def found(*versions: dict[str, dict[str, object]]) -> list[str]:
        return list(differences(STUDY, STUDY, *versions))

    here = servers("15.18", "18.1")
    assert found(here, here) == []
    assert found(here, servers("15.18", "18.6")) == ["server version under B: 18.1 here, 18.6 there"]
    assert found(servers("15", "15"), servers("18", "18")) == ["server version: 15 here, 18 there"]


def test_other_work_is_named_where_it_is_compared_nevertheless() -> None:
    more = STUDY.model_copy(update={"plan": STUDY.plan.model_copy(update={"clients": [2, 8, 16]})})
    unlike = "plan.clients: [2, 8] here, [2, 8, 16] there"
    truth = {"A": Truth(), "B": Truth()}
    here, there = bundle("here", Truth(), Truth(), 1), ("there", evidence_of(more, truth), {})
    assert list(unlike_work(here, there)) == [unlike]
    (found,) = compare_bundles(here, [there])
    assert found.unlike_work == (unlike,)
    assert f"different work: {unlike}" in printed(found)
    page = render([found])
    assert "Bundles of different work" in page and unlike in page


def test_disturbed_runs_of_either_bundle_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    one = bundle("here", Truth(), Truth(), 1)
    late = Disturbance("server", 0.541, "other processes", 2.0, 5.0, (("rustc", 0.61),))
    monkeypatch.setattr(
        "steelyard.analysis.bundles.disturbed",
        lambda evidence: Disturbed({3: late, 2: late} if evidence is one[1] else {}, 12),
    )
    (found,) = compare_bundles(one, [bundle("there", Truth(), Truth(), 2)])
    (notice,) = [notice for notice in found.uncertain if notice.code == "disturbed"]
    assert notice.runs == (2, 3) and notice.text.startswith("here: disturbed") and "(2 and 3)" in notice.text
    # before the result
    assert printed(found).index(notice.text) < printed(found).index("Throughput")
    page = html.unescape(render([found])).replace("\u00a0", " ")
    assert page.index(notice.text) < page.index("</section>")


def test_few_blocks_of_either_bundle_make_a_leaning_and_no_result() -> None:
    quicker = {"A": Truth(throughput_per_s=15_000, user_us=20), "B": Truth()}
    few = evidence_of(STUDY, quicker, blocks=3, noise=0.001, block_noise=0.001, seed=2)
    (found,) = compare_bundles(bundle("here", Truth(), Truth(), 1, 0.001), [("there", few, {})])
    assert {c.outcome for c in found.comparisons if c.option == "A"} >= {"better"}
    assert not {c.standing for c in found.comparisons} & {"better", "worse", "equivalent"}
    text, page = printed(found), render([found]).replace("\u00a0", " ")
    assert "too few blocks to say: 3 blocks" in text.splitlines()[1]
    assert "leaning better" in page and "too few blocks to say: 3 blocks" in page
    assert not re.search(r"^[▲▼=] ", text, re.M) and re.search(r"^△ +A ", text, re.M)


def test_more_tests_make_wider_intervals(named: list[Named], found: list[BundleComparison]) -> None:
    (alone,) = compare_bundles(named[0], named[2:])
    pairs = list(zip(alone.comparisons, found[1].comparisons, strict=True))
    assert all(one.p_value <= more.p_value and one.high <= more.high for one, more in pairs)
    assert any(one.high < more.high for one, more in pairs)


def test_equal_bundles_rarely_differ_in_any_test() -> None:
    wrong = 0
    for seed in range(12):
        (one,) = compare_bundles(
            bundle("a", Truth(), Truth(), 2 * seed, noise=0.05),
            [bundle("b", Truth(), Truth(), 2 * seed + 1, 0.05)],
        )
        wrong += any(c.p_value < 0.05 for c in one.comparisons)
    assert wrong <= 2  # 5 % of 12 studies of 12 tests each; without correction about half


def test_a_level_of_holm_finds_what_its_p_value_finds() -> None:
    for p in ([0.001, 0.02, 0.04], [0.03, 0.03], [0.2], [0.01, 0.06, 0.011, 0.9], []):
        assert ((holm(p) <= 0.05) == (np.asarray(p) <= holm_levels(p, 0.05))).all()


def test_the_page_is_one_offline_file_with_the_numbers(
    found: list[BundleComparison], named: list[Named]
) -> None:
    page = render(found, *named).replace("\u00a0", " ")
    shown = page.partition("<main>")[2].partition("</main>")[0]
    assert not re.search(r"""(src|href)="?(http|//)|@import|url\(""", shown) and "default-src 'none'" in page
    # the options of all bundles in each picture
    assert [name for name, *_ in named if f"{name} B" not in shown] == []
    for one in found:
        for metric in one.metrics:
            for row in bundles.compared(one, metric).rows:
                assert all(f">{cell}</td>" in page for cell in row[3:6])
    # two load points of two options in two bundles: a panel for each metric and bundle
    assert page.count('data-chart="there-') == page.count('data-chart="again-') == 3
    assert "corrected for 24 tests (Holm)" in page
    assert "the runs of the two bundles were not interleaved" in page


def test_the_page_takes_hostile_names_as_text(found: list[BundleComparison]) -> None:
    page = render([replace(found[0], there="<script>alert(1)</script>")])
    assert "<script>alert(1)" not in page and "&lt;script&gt;alert(1)" in page


READ = ("postgres", "database", "blocks_read_total")


def test_pages_read_into_the_buffers_stand_beside_the_ratios_also_where_they_are_none() -> None:
    missing, cached = Truth(counters={READ: 8_500.0}), Truth(counters={READ: 0.0})
    (found,) = compare_bundles(bundle("here", missing, missing, 1), [bundle("there", cached, cached, 2)])
    assert [metric.name for metric in found.counted] == ["blocks_read_per_txn"]
    assert {level.value > 0 for level in found.counted_here} == {True}
    assert {level.value for level in found.counted_there} == {0.0}
    assert found.tests == len(found.comparisons) == 3 * 2 * 2
    text, page = printed(found), render([found])
    assert "blocks read into shared buffers per transaction" in " ".join(text.lower().split())
    assert len(re.findall(r"^[AB] +[28] +0\.\d+ +0$", text, re.MULTILINE)) == 4
    assert "Blocks read into shared buffers per transaction" in page


def test_more_of_transactions_that_fail_is_no_gain() -> None:
    failing = Truth(throughput_per_s=15_000, error_share=0.25)
    (found,) = compare_bundles(
        bundle("here", Truth(), Truth(), 1), [bundle("there", failing, Truth(throughput_per_s=15_000), 2)]
    )
    assert [(one.code, one.subject) for one in found.uncertain] == [("errors", "A")]
    assert "25.0 % of the transactions of A failed" in printed(found)
    throughput = [c for c in found.comparisons if c.metric == "throughput_per_s"]
    assert {(c.option, c.outcome) for c in throughput} == {("A", "different"), ("B", "better")}


def test_options_of_one_bundle_alone_are_named_and_so_is_each_pair() -> None:
    study = study_of({"f": "AC"}, clients=(2, 8))
    there = "there", evidence_of(study, {"A": Truth(), "C": Truth()}, seed=2), {}
    here = bundle("here", Truth(), Truth(), 1)
    (found,) = compare_bundles(here, [there])
    left_out = [one.text for one in found.notices if one.code == "not-compared"]
    assert left_out == ["not compared: B, only in here", "not compared: C, only in there"]
    (found,) = compare_bundles(here, paired([here, there], {"C": "B"})[1:])
    assert not [one for one in found.notices if one.code == "not-compared"]
    assert "option: B here, C there" in found.differences


def test_what_the_files_of_two_recordings_say_is_compared() -> None:
    here, there = bundle("here", Truth(), Truth(), 1), bundle("there", Truth(), Truth(), 2)

    def recorded(one: Named, **facts: str) -> Named:
        named = {name.replace("_", " "): value for name, value in facts.items()}
        return one[0], one[1], {"recording": {}, "servers": {"A": {"set": named}}}

    one, other = recorded(here, scaling_factor="10"), recorded(there, scaling_factor="100")
    assert list(unlike_work(one, other)) == ["A.scaling factor: 10 here, 100 there"]
    one, other = recorded(here, query_mode="simple"), recorded(there, query_mode="prepared")
    assert not list(unlike_work(one, other))
    (found,) = compare_bundles(one, [other])
    assert found.differences == ("A.query mode: simple here, prepared there",)


def test_a_load_engine_at_its_limit_on_either_side_names_no_winner() -> None:
    slow, fast = Truth(), Truth(throughput_per_s=15_000, p99_ns=1_000_000, engine_us=130)
    (found,) = compare_bundles(bundle("here", slow, slow, 1), [bundle("there", fast, fast, 2)])
    assert [one.code for one in found.uncertain] == ["engine-bound"]
    of_engine = [c.outcome for c in found.comparisons if c.metric in ("throughput_per_s", "p99_ns")]
    assert set(of_engine) == {"different"}


def test_the_answer_comes_first_with_its_figures() -> None:
    (found,) = compare_bundles(
        bundle("/x/here.bundle", Truth(), Truth(), 1), [bundle("/x/there.bundle", Truth(), Truth(15_000), 2)]
    )
    alike, quicker = found.answer
    assert alike.startswith("A: throughput of there is 1.0") and quicker.startswith(
        "B: throughput of there is 1."
    )
    # 2 clients do more than 8: the slower one never gets there
    assert "with 2 clients" in quicker and "with 8 clients" in quicker
    assert printed(found).index(quicker[:60]) < printed(found).index("Throughput")


def pair(first: list[tuple[int, float]], second: list[tuple[int, float]], width: float = 0.0) -> str:
    """The sentence on two curves of (clients, rate); width: half the interval of each rate, relative."""

    def level(clients: int, rate: float) -> Estimate:
        low, high = (rate * (1 - width), rate * (1 + width)) if width else (0.0, math.inf)
        return Estimate("throughput_per_s", "A", clients, rate, low, high, 6)

    rows = [
        (
            Comparison(
                "throughput_per_s", "A", "one", n, b / a, 0.0, math.inf, math.nan, 1, 0.01, "inconclusive"
            ),
            level(n, a),
            level(n, b),
        )
        for (n, a), (_, b) in zip(first, second, strict=True)
    ]
    (text,) = Pair("one", "two", (4, 2), STUDY.workload, several=False).sentences(THROUGHPUT, {"A": rows})
    return text


def test_crossings_are_interpolated_and_say_how_sure_they_are() -> None:
    slow, fast = [(1, 100.0), (2, 200.0), (4, 400.0)], [(1, 300.0), (2, 600.0), (4, 600.0)]
    text = pair(slow, fast)
    assert "two is 3.00 times that of one with 1 client, 1.50 times with 4 clients" in text
    assert "one needs 3.00 clients to reach two with 1 client (interpolated between 2 and 4)" in text
    # two has 2 cores
    assert "changes by ±0 % up to 2 clients (the cores of two), then by −50.0 % up to 4" in text
    assert "one needs 3.00 clients to reach two with 1 client [2.45 to 3.67]" in pair(slow, fast, 0.1)
    # the other way round it is the same statement
    assert "one needs 3.00 clients to reach two" in pair(slow, fast)
    assert "two needs 3.00 clients to reach one with 1 client" in pair(fast, slow)
    assert "one does not reach two with 1 client, up to 4" in pair(slow, [(1, 900.0), (2, 900.0), (4, 900.0)])


@cache
def platform(ratio: float, seed: int, blocks: int) -> Judgement:
    return judge(evidence_of(STUDY, {"A": Truth(), "B": Truth(10_000 * ratio)}, seed=seed, blocks=blocks))


def platforms(*ratios: float, blocks: int = 6) -> dict[str, Judgement]:
    return {f"m{seed}": platform(ratio, seed, blocks) for seed, ratio in enumerate(ratios)}


def test_a_finding_holds_on_platforms_or_does_not() -> None:
    (first, *_) = holds(platforms(1.3, 1.5, 2.1))
    assert "of B is 1.3" in first and "higher on 3 of 3 platforms, proven on 3" in first and "I²" not in first
    (first, *_) = holds(platforms(1.3, 1.5, 0.7))
    assert "higher on 2 of 3 platforms, proven on 2" in first
    (first, *_) = holds(platforms(1.3, 1.5, blocks=1))
    assert "2 of 2 platforms, one run each" in first
    refused = no_platforms(platforms(1.3, 1.5), ["server version: 15 here, 18 there"])
    assert "unknown" in refused and "server version" in refused and not no_platforms(platforms(1.3, 1.5), [])


def test_a_ratio_of_0_on_a_platform_has_no_mean_over_them() -> None:
    ratios = platforms(1.2, 1.3, 1.4, 1.5)
    (none,) = platforms(1.6).values()
    none = replace(none, comparisons=tuple(replace(c, ratio=0.0) for c in none.comparisons))
    (first, *_) = holds({**ratios, "m9": none})
    assert "higher on 4 of 5 platforms" in first and "over platforms" not in first


def test_from_five_platforms_on_the_effect_has_an_interval_over_them() -> None:
    (first, *_) = holds(platforms(1.2, 1.3, 1.4, 1.5, 1.6))
    found = re.search(r"over platforms ([\d.]+) \[([\d.]+) to ([\d.]+)\], .* differ by ([\d.]+) times", first)
    assert found
    mean, low, high, factor = map(float, found.groups())
    # t with 4 degrees of freedom x the standard error of the logs
    logs = np.log([1.2, 1.3, 1.4, 1.5, 1.6])
    half = 2.776 * logs.std(ddof=1) / math.sqrt(5)
    assert mean == pytest.approx(math.exp(logs.mean()), rel=0.02)
    assert math.log(high / low) / 2 == pytest.approx(half, rel=0.1)
    assert factor == pytest.approx(math.exp(logs.std(ddof=1)), rel=0.03)


def test_other_baselines_are_no_question_of_platforms() -> None:
    judged = platforms(1.3, 1.5)
    assert "their baseline" in no_platforms({**judged, "m1": replace(judged["m1"], baseline="B")}, [])


def test_load_points_are_taken_in_their_order() -> None:
    points = [(4, 400.0), (1, 100.0), (2, 200.0)], [(4, 600.0), (1, 300.0), (2, 600.0)]
    assert "with 1 client, 1.50 times with 4 clients" in pair(*points)
    assert "needs" not in pair([(1, 100.0), (2, 150.0)], [(1, 100.0), (2, 200.0)])
