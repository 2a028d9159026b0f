import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence import Gauge, Truth, changed, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement.verdict import Verdict
from steelyard.analysis.verdict.findings import names

MEMORY = ("processes", "server", "memory_bytes")
LEAK = {MEMORY: Gauge(1e8, 5e8, cooled=4.9e8, gone=1e8)}
FASTER = 16_000.0
TWO = study_of({"f": "AB"})
ONE_SENTENCE = re.compile(r"[^.!?]*(?:[.](?=\d)[^.!?]*)*[.]")
INTERVAL = re.compile(r"\[|95 %|interval")


def verdict(truth: dict[str, Truth], study=TWO, **more) -> Verdict:
    return judge(evidence_of(study, truth, **more)).verdict


def test_sql_of_a_level_is_explained_in_one_line_without_its_semicolon() -> None:
    study = study_of({"f": "AB"})
    levels = {"A": "", "B": {"sql": "create index i\n  on orders (customer_id);\n"}}
    schema = study.factors["f"].model_copy(update={"scope": "schema", "levels": levels})
    said = verdict(
        {"A": Truth(), "B": Truth(throughput_per_s=FASTER)},
        study.model_copy(update={"factors": {"f": schema}}),
    )
    text = " ".join((said.headline, *said.reasons))
    assert "f = create index i on orders (customer_id)" in text
    assert ";." not in text and "; ." not in text and "\n" not in text


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


@settings(max_examples=12, deadline=None)
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
    assert "leads: it beats C" in said.headline
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


def test_no_difference_over_all_load_points_is_not_said_of_each_of_them() -> None:
    study = study_of({"f": "AB"}, clients=(1, 8))
    truth = {"A": Truth(), "B": Truth()}
    wild = {1: 0.2, 2: 5.0, 3: 0.3, 4: 4.0, 5: 0.25, 6: 4.5}
    found = evidence_of(study, truth, noise=0.0, block_noise=0.0)
    # equal by one load point, far apart by the other
    factor = [
        (wild[block] if clients == 1 else 1.4) if option == "B" else 1.0
        for run, clients in zip(
            found.view("points")["run"].tolist(), found.view("points")["clients"].tolist(), strict=True
        )
        for option, block in [
            (
                str(found.view("runs")["option"][found.view("runs")["run"] == run][0]),
                int(found.view("runs")["block"][found.view("runs")["run"] == run][0]),
            )
        ]
    ]
    points = {
        **found.view("points"),
        "transactions": found.view("points")["transactions"] * np.asarray(factor),
    }
    said = judge(changed(found, points=points)).verdict
    assert said.headline.endswith("no difference is shown over 1 to 8 clients together."), said
    assert [reason for reason in said.reasons if "at 8 better: B" in reason]
    obeys(said)


def test_a_limit_that_both_options_reached_is_a_notice_and_no_reason() -> None:
    full = {("postgres", "statements", "entries"): Gauge(95, 96, highest=100, limit=100)}
    study = study_of({"f": "AB"})
    both = judge(
        evidence_of(study, {o: Truth(throughput_per_s=s, gauges=full) for o, s in (("A", 1e4), ("B", 2e4))})
    )
    assert {n.subject for n in both.notices if n.code == "gauge-full"} == {"A", "B"}
    assert not [line for line in (*both.verdict.lines, *both.verdict.reasons) if "limit of 100" in line]
    one = judge(evidence_of(study, {"A": Truth(), "B": Truth(throughput_per_s=2e4, gauges=full)})).verdict
    assert "reached its limit of 100" in one.consequence


def test_a_scatter_at_an_address_is_not_that_of_this_machine() -> None:
    wild = {block: 3.0 if block % 2 else 1.0 for block in range(1, 7)}
    said = [
        verdict(
            {"A": Truth(), "B": Truth()},
            study_of({"f": "AB"}, subject={"kind": "postgres", **dsn}),
            factor=lambda block, option: wild[block] if option == "B" else 1.0,
        ).consequence
        for dsn in ({}, {"dsn": "postgresql://a@b/c"})
    ]
    assert "make the machine quieter first (steelyard doctor)" in said[0]
    assert (
        "make the server, its machine and the network quieter first; steelyard doctor checks this one"
        in said[1]
    )


def test_a_label_is_a_whole_word_with_its_hyphens() -> None:
    assert names("pool (thread_handling = x) wins", "pool")
    assert not names("x wins (thread_handling = pool-of-threads)", "pool")
    assert not names("one-thread-per-connection", "per-connection")


def test_a_version_is_named_by_its_number_and_not_by_the_folder_of_its_programs() -> None:
    levels = {"OLD": "/usr/lib/postgresql/15/bin", "NEW": "embedded"}
    one = TWO.factors["f"].model_copy(update={"scope": "version", "setting": "bindir", "levels": levels})
    study = TWO.model_copy(update={"factors": {"version": one}})
    evidence = evidence_of(study, {"OLD": Truth(), "NEW": Truth(throughput_per_s=20_000)})
    said = judge(replace(evidence, versions={"OLD": "15.18", "NEW": "18.6"})).verdict
    assert "NEW (version = 18.6) wins" in said.headline
    assert "/usr" not in said.headline and "OLD" in said.headline
