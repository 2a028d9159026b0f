import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence import Gauge, Truth, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement.results import Verdict

MEMORY = ("processes", "server", "memory_bytes")
LEAK = {MEMORY: Gauge(1e8, 5e8, cooled=4.9e8, gone=1e8)}
FASTER = 16_000.0
TWO = study_of({"f": "AB"})
ONE_SENTENCE = re.compile(r"[^.!?]*(?:[.](?=\d)[^.!?]*)*[.]")
INTERVAL = re.compile(r"\[|95 %|interval")


def verdict(truth: dict[str, Truth], study=TWO, **more) -> Verdict:
    return judge(evidence_of(study, truth, **more)).verdict


def obeys(said: Verdict) -> None:
    """The rule of every verdict."""
    assert 0 < len(said.headline.split()) <= 20, said.headline
    assert ONE_SENTENCE.fullmatch(said.headline), said.headline
    assert not INTERVAL.search(said.headline), said.headline
    if said.winner:
        assert re.match(rf"{re.escape(said.winner)}\b", said.headline), said.headline
        assert re.search(r"\d", said.headline), said.headline
    assert said.lines[0] == said.headline
    assert not set(said.lines) & set(said.reasons)


truths = st.builds(
    Truth,
    throughput_per_s=st.sampled_from([9_000.0, 10_000.0, 10_100.0, FASTER, 60_000.0]),
    user_us=st.sampled_from([8.0, 30.0, 45.0]),
    p99_ns=st.sampled_from([1.5e6, 3e6]),
    error_share=st.sampled_from([0.0, 0.0, 0.05]),
    gauges=st.sampled_from([{}, {}, LEAK]),
)


@settings(max_examples=120, deadline=None)
@given(
    factors=st.sampled_from(
        [
            {"f": "AB"},
            {"f": "ABCD"},
            {"handle_of_statements": ["NONE", "NAMED"], "statistics": ["S0M", "S20M"]},
        ]
    ),
    kind=st.sampled_from(["postgres", "null"]),
    open_loop=st.booleans(),
    blocks=st.integers(1, 6),
    noise=st.sampled_from([0.001, 0.03]),
    alone=st.booleans(),
    data=st.data(),
)
def test_every_headline_is_one_sentence_of_at_most_20_words_without_an_interval(
    factors, kind, open_loop, blocks, noise, alone, data
) -> None:
    from steelyard.study.plan import options

    study = study_of(factors, subject={"kind": kind}, **({"rate_per_s": 1000} if open_loop else {}))
    truth = {option.label: data.draw(truths) for option in options(study)[: 1 if alone else None]}
    said = verdict(truth, study, blocks=blocks, noise=noise)
    if kind == "null":
        said = replace(said, winner=None)  # the headline is about the harness, not about its options
    obeys(said)


def test_what_a_winner_costs_or_risks_is_the_third_line() -> None:
    said = verdict({"A": Truth(), "B": Truth(throughput_per_s=FASTER, p99_ns=4e6)}, noise=0.002)
    assert said.winner == "B"
    assert "Latency p99: 3.96 ms under B, 1.98 ms under A (99.9 % higher)." in said.consequence
    assert not [reason for reason in said.reasons if reason.startswith("Latency p99")]


def test_a_leak_is_the_headline_where_no_option_wins() -> None:
    said = verdict({"A": Truth(), "B": Truth(gauges=LEAK)}, noise=0.002)
    assert (said.outcome, said.winner) == ("tie", None)
    assert said.headline == ("B (f = value B): server memory grew by 381 MiB per run and kept 97.5 % of it.")
    assert said.interval.startswith("Server memory grew by 381 MiB while measuring and kept 97.5 % of it")
    assert "are equivalent" in said.consequence
    obeys(said)


def test_a_leak_of_the_winner_is_what_it_risks() -> None:
    said = verdict({"A": Truth(), "B": Truth(throughput_per_s=FASTER, gauges=LEAK)}, noise=0.002)
    assert said.winner == "B"
    assert said.consequence.startswith("B: server memory grew by 381 MiB per run and kept 97.5 % of it.")
    assert [reason for reason in said.reasons if "disconnecting gave 100 % of it back" in reason]


@pytest.mark.parametrize("leaks", ["AB", "C"])
def test_a_leak_of_all_that_are_left_or_of_one_that_is_beaten_does_not_lead(leaks: str) -> None:
    study = study_of({"f": "ABC"})
    truth = {o: Truth(throughput_per_s=9_000 if o == "C" else 10_000) for o in "ABC"}
    truth |= {o: replace(truth[o], gauges=LEAK) for o in leaks}
    said = verdict(truth, study, noise=0.002)
    assert said.winner is None
    assert "leads: it beats 1 other" in said.headline
    assert ("per run and kept" in said.consequence) == (leaks == "AB")


def test_codes_without_room_in_the_headline_are_explained_first() -> None:
    study = study_of({"handle_of_statements": ["NONE", "NAMED"], "statistics": ["S0M", "S20M"]})
    said = verdict(
        {
            label: Truth(throughput_per_s=FASTER if label == "NAMED_S20M" else 10_000)
            for label in ("NONE_S0M", "NONE_S20M", "NAMED_S0M", "NAMED_S20M")
        },
        study,
        noise=0.002,
    )
    assert said.winner == "NAMED_S20M"
    assert said.reasons[:2] == (
        "NAMED_S20M: handle_of_statements = value NAMED, statistics = value S20M.",
        "NONE_S0M: handle_of_statements = value NONE, statistics = value S0M.",
    )


def test_a_version_is_named_by_its_number_and_not_by_the_folder_of_its_programs() -> None:
    levels = {"OLD": "/usr/lib/postgresql/15/bin", "NEW": "embedded"}
    one = TWO.factors["f"].model_copy(update={"scope": "version", "setting": "bindir", "levels": levels})
    study = TWO.model_copy(update={"factors": {"version": one}})
    evidence = evidence_of(study, {"OLD": Truth(), "NEW": Truth(throughput_per_s=20_000)})
    said = judge(replace(evidence, versions={"OLD": "15.18", "NEW": "18.6"})).verdict
    assert "NEW (version = 18.6) wins" in said.headline
    assert "/usr" not in said.headline and "OLD" in said.headline
