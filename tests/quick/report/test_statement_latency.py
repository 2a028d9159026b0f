"""Latency by statement in the judgement, the terminal, page and JSON, with the estimator of transactions."""

from __future__ import annotations

import io
import json
import re
from dataclasses import asdict, replace

import builders
import numpy as np
import pytest
from rich.console import Console

from evidence import Truth, changed, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Judgement
from steelyard.bundle.evidence import Evidence
from steelyard.bundle.series.read import Series
from steelyard.report.export import judgement_json
from steelyard.report.page.html import render
from steelyard.report.presented import Presented
from steelyard.report.tables import statements
from steelyard.report.terminal.verdict import print_verdict


def with_statements(shares: dict[str, float]) -> Evidence:
    """Two load points; each statement takes a share of the transaction's time."""
    study = study_of({"f": "AB"}, clients=(2, 8))
    found = evidence_of(study, {"A": Truth(), "B": Truth(p99_ns=3_000_000)}, block_noise=0.3, void=[(3, "B")])
    whole = found.view("latency")
    parts = [
        {
            name: np.full(len(column), part, dtype=object)
            if name == "statement"
            else column * (share if name.endswith("_ns") else 1)
            for name, column in whole.items()
        }
        for part, share in shares.items()
    ]
    table = {name: np.concatenate([whole[name], *(part[name] for part in parts)]) for name in whole}
    return changed(found, latency=table)


@pytest.fixture(scope="module")
def judged() -> Judgement:
    return judge(with_statements({"read": 0.25, "write": 0.5}))


def presented(judgement: Judgement) -> Presented:
    about = replace(builders.two()[2], phases=replace(builders.two()[2].phases, clients=(2, 8)))
    return Presented(judgement, Series(), about)


def test_a_statement_is_estimated_as_its_transaction_is(judged: Judgement) -> None:
    by = {(row.statement, row.option, row.clients): row for row in judged.statements}
    assert len(by) == 3 * 2 * 2
    for e in judged.estimates:
        if e.metric == "p99_ns" and e.clients:
            assert by["transaction", e.option, e.clients].p99_ns == pytest.approx(e.value)
            assert by["read", e.option, e.clients].p99_ns == pytest.approx(0.25 * e.value)
            assert by["write", e.option, e.clients].p99_ns == pytest.approx(0.5 * e.value)
    assert [row.statement for row in judged.statements[:6]] == ["read"] * 2 + ["write"] * 2 + [
        "transaction"
    ] * 2


def test_counts_are_those_of_all_runs(judged: Judgement) -> None:
    evidence = with_statements({"read": 0.25, "write": 0.5})
    done = evidence.view("points")["transactions"][evidence.view("points")["clients"] == 8].sum()
    assert sum(r.count for r in judged.statements if r.statement == "read" and r.clients == 8) == done


def test_a_single_statement_is_its_transaction_and_has_no_table() -> None:
    found = judge(with_statements({"lookup": 1.0}))
    assert found.statements == ()
    assert statements.statements(presented(found)) is None
    assert "Latency by statement" not in render(presented(found))


def test_terminal_page_and_json_show_the_same(judged: Judgement) -> None:
    shown = presented(judged)
    out = io.StringIO()
    print_verdict(shown, Console(file=out, width=100))
    lines = [
        line for line in out.getvalue().splitlines() if re.match(r"  (read|write|transaction) +[AB] ", line)
    ]
    page = render(shown).replace("\u00a0", " ")
    section = page[page.index('id="statement-latency"') :].partition("</section>")[0]
    short, table = statements.statements(shown), statements.page_table(shown)
    assert short and table
    assert [tuple(line.split(maxsplit=2)[:2]) for line in lines] == [(r[0].strip(), r[1]) for r in short.rows]
    for row in table.rows:
        assert all(f">{cell}</td>" in section for cell in row[1:])
    assert {row[2] for row in table.rows} == {"2", "8"}
    at_most = [(f"  {row[0]}", row[1], *row[3:]) for row in table.rows if row[2] == "8"]
    assert list(short.rows) == at_most
    found = json.loads(json.dumps(judgement_json(shown)))["judgement"]["statements"]
    assert found == json.loads(json.dumps([asdict(row) for row in judged.statements]))


def test_each_statement_has_its_ratio_to_the_baseline_adjusted_for_their_number() -> None:
    evidence = with_statements({"read": 0.25, "write": 0.5})
    slower = np.isin(
        evidence.view("latency")["run"], evidence.view("runs")["run"][evidence.view("runs")["option"] == "B"]
    )
    write = slower & (evidence.view("latency")["statement"] == "write")
    p50 = np.where(write, 1.5, 1.0) * evidence.view("latency")["p50_ns"]
    found = judge(changed(evidence, latency={**evidence.view("latency"), "p50_ns": p50}))
    by = {(r.statement, r.option): r.comparison for r in found.statements if r.clients == 8}
    one = by["write", "B"]
    alone = next(c for c in found.comparisons if c.metric == "p50_ns" and c.clients == 8)
    assert one is not None and one.outcome == "worse" and one.low < 1.5 < one.high
    read = by["read", "B"]
    assert read is not None and read.outcome != "worse" and read.ratio == pytest.approx(alone.ratio)
    whole = by["transaction", "B"]
    assert whole is not None and whole.low < 1 < whole.high
    assert by["read", "A"] is None and by["transaction", "A"] is None
    (row,) = [r for r in statements.statements(presented(found)).rows if r[:2] == ("  write", "B")]
    assert row[-1].startswith("▼ 1.5")


def test_many_options_have_their_statements_on_the_page_alone(judged: Judgement) -> None:
    many = replace(judged, options=("A", "B", *(f"O{i}" for i in range(7))))
    assert statements.statements(presented(many)) is None
    assert statements.page_table(presented(many)) is not None
