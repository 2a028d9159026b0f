"""Study files: what they say becomes options, blocks and labels, or an error that mends itself."""

from __future__ import annotations

import json
import random
import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from needs import GUESTS, needs

from steelyard.errors import InputError
from steelyard.study.load_study import catalogue, find_study, json_schema, parse_study
from steelyard.study.overrides import adjusted
from steelyard.study.plan import blocks, options
from steelyard.study.study import Stop, Study
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.workflow.prepare import PreparedStudy

MINIMAL = """\
name = "mine"
question = "Which?"

[subject]
kind = "postgres"

[factors.handle]
scope = "client"

[factors.handle.levels]
DYN0 = "none"
DYN1 = "named"

[factors.cache]
scope = "server"
setting = "shared_buffers"
levels = { ST0M = "16MB", ST20M = "256MB" }
"""


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_study(text, "my.toml")
    return str(caught.value)


def _with(**tables: str) -> str:
    return "\n".join([MINIMAL, *(f"[{name.replace('__', '.')}]\n{keys}" for name, keys in tables.items())])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            MINIMAL.replace("mine", "pg-18.6"),
            "my.toml:1: name: invalid name: use lower-case letters, digits and hyphens (max. 64)",
        ),
        (MINIMAL.replace("mine", "-a"), "not a hyphen first (given: '-a')"),
        (MINIMAL.replace("mine", r"a\n"), "name: invalid name: use lower-case"),
        (
            MINIMAL.replace("DYN0", "DYN_0"),
            "levels.DYN_0: invalid code of a level: use letters, digits, '.', '+' and '-'",
        ),
        (
            MINIMAL.replace("factors.cache", "factors.Cache"),
            "factors.Cache: invalid name: use lower-case letters, digits and underscores",
        ),
        (
            _with(
                workload='kind = "threads"\nscaled = "A"',
                workload__groups__A='cpu = { kind = "fixed", mean_us = 1 }',
            ),
            "groups.A: invalid name of a group: use lower-case letters, digits, underscores and hyphens",
        ),
        (_with(workload='kind = "published"\nunit = " x"'), "unit: invalid label: use 1 to 24 printable"),
        (
            _with(workload='kind = "program"\ncommand = ["a"]\nunit = ""\nscore = { json_path = "a" }'),
            "unit: invalid label: use 1 to 24 printable characters, not a space first (given: '')",
        ),
        (
            _with(workload='kind = "program"\ncommand = ["a"]\nscore = { json_path = "a..b" }'),
            "json_path: invalid path: use keys and indices joined by single dots",
        ),
        (
            _with(workload='kind = "program"\ncommand = ["a"]\nscore = { json_path = \'a."p99.9\' }'),
            'a key with a dot in quotes: "p99.9".0',
        ),
        (_with(workload__statements__one='sql = ""'), "sql: empty SQL: write a statement"),
    ],
)
def test_a_text_of_a_wrong_form_gets_the_rule_in_words(text: str, expected: str) -> None:
    message = refusal(text)
    assert expected in message
    assert "pattern" not in message
    assert "^" not in message


def test_the_schema_has_the_patterns_of_names() -> None:
    schema = json.loads(json_schema())
    assert schema["properties"]["name"]["pattern"] == "^[a-z0-9][a-z0-9-]{0,63}$"
    assert list(schema["properties"]["factors"]["patternProperties"]) == ["^[a-z][a-z0-9_]{0,31}$"]


def test_a_study_without_a_variant_for_a_subject_is_named() -> None:
    with pytest.raises(
        InputError, match=r"^--subject mysql: the study demo has no variant for subject mysql$"
    ):
        adjusted("demo", subject="mysql")


def test_a_study_file_names_its_server_itself(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(MINIMAL)
    with pytest.raises(
        InputError, match=r"chooses between built-in studies, and .*my\.toml is a file"
    ) as found:
        adjusted(str(path), subject="mariadb")
    assert 'replace kind = "postgres" under [subject]' in found.value.hint
    assert adjusted(str(path), subject="postgres").text == MINIMAL


def test_labels_join_the_codes_in_the_order_of_the_factors() -> None:
    labels = [option.label for option in options(parse_study(MINIMAL, "my.toml"))]
    assert labels == ["DYN0_ST0M", "DYN0_ST20M", "DYN1_ST0M", "DYN1_ST20M"]


def test_levels_act_in_their_scope() -> None:
    study = parse_study(MINIMAL, "my.toml")
    last = options(study)[-1]
    assert last.server == {"shared_buffers": "256MB"}
    assert isinstance(last.workload, StatementWorkload)
    assert last.workload.handle == "named"


def test_excluded_combinations_are_left_out() -> None:
    text = MINIMAL + '\n[[exclude]]\nhandle = "DYN0"\ncache = ["ST20M"]\nwhy = "no use"\n'
    labels = [option.label for option in options(parse_study(text, "my.toml"))]
    assert labels == ["DYN0_ST0M", "DYN1_ST0M", "DYN1_ST20M"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('name = "mine"', 'nmae = "mine"', 'my.toml:1: nmae: unknown key "nmae"; did you mean "name"?'),
        ('"named"', '"unamed"', 'my.toml:12: factors.handle.levels.DYN1: unknown handle "unamed"; did you'),
        ('scope = "client"', 'scope = "clinet"', 'my.toml:8: factors.handle.scope: unknown scope "clinet"'),
        ('kind = "postgres"', 'knid = "postgres"', 'my.toml:5: subject.knid: unknown key "knid"; did you'),
        ("DYN0 =", '"D Y" =', "factors.handle.levels.D Y"),
        ('levels = { ST0M = "16MB", ST20M = "256MB" }', 'levels = { ST0M = "16MB" }', "my.toml:17"),
        ("[subject]", "[subject", "my.toml:4: not TOML"),
        ('"256MB" }', '"256MB" }\nlast = """', "my.toml:18: not TOML: "),
        ('setting = "shared_buffers"', 'seting = "shared_buffers"', "my.toml:16: factors.cache.seting"),
    ],
)
def test_an_error_names_file_line_key_and_the_nearest_word(old: str, new: str, expected: str) -> None:
    assert expected in refusal(MINIMAL.replace(old, new, 1))


SQL = """\
name = "own"
question = "Which?"
subject = { kind = "postgres" }

[workload]
kind = "sql"

[workload.statements.look]
sql = "select :low, :id as a{tag}"
parameters.id = { kind = "zipf", low = 1, high = 9, exponent = 1.0 }
parameters.low = { kind = "uniform", low = 1, high = 9 }

[factors.handle]
scope = "client"
levels = { simple = "none", named = "named" }
"""


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        PreparedStudy.of(text, "my.toml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ""),
        ("exponent = 1.0", "exponnt = 1.0", "my.toml:10: workload.statements.look.parameters.id.exponent"),
        ("exponent = 1.0", "exponent = -1", "my.toml:10: workload.statements.look.parameters.id.exponent"),
        ('"zipf"', '"zip"', 'my.toml:10: workload.statements.look.parameters.id: unknown kind "zip"; did'),
        (
            "low = 1, high = 9 }",
            "low = 10, high = 9 }",
            "my.toml:11: workload.statements.look.parameters.low",
        ),
        (":low,", "", "my.toml:11: workload.statements.look.parameters.low: the SQL lacks :low; One of: id"),
        (
            "parameters.low =",
            "parameters.lo =",
            "my.toml:9: workload.statements.look.sql: no generator for :low",
        ),
        ('kind = "sql"', 'kind = "sq"', 'my.toml:6: workload.kind: no workload "sq"; did you mean "sql"?'),
        (
            'kind = "sql"',
            'kind = "storm"',
            "my.toml:8: workload.statements: has no effect: kind is 'storm', not 'sql'",
        ),
        ('kind = "sql"', 'kind = "sql"\nrows = 9', "my.toml:7: workload.rows: has no effect"),
        (
            'kind = "sql"',
            'kind = "sql"\ndistinct_texts = 9',
            "my.toml:7: workload.distinct_texts: has no effect",
        ),
        (
            'kind = "sql"',
            'kind = "sql"\narrival = { think = "exponential" }',
            "workload.arrival.think: has no",
        ),
        ('kind = "sql"', 'kind = "sql"\narrival = { spacing = "even" }', "workload.arrival.spacing: has no"),
        ("as a{tag}", "", ""),
        ('kind = "sql"', 'kind = "sql"\ntext = "distinct"', ""),
        (
            "[factors.handle]",
            "[monitors]\nhots = 1\n[factors.handle]",
            'monitors.hots: no monitor "hots"; did you',
        ),
        (
            'name = "own"',
            'name = "own"\noverlay = ["result-cache-t3"]',
            'my.toml:2: overlay: no recording "result-cache-t3"; did you mean "result-cache-t2"?',
        ),
        (
            '"postgres"',
            '"postgrs"',
            'my.toml:3: subject.kind: no subject "postgrs"; did you mean "postgres"?',
        ),
        ('"postgres"', '"postgres", bindir = "/nowhere"', "my.toml:3: subject.bindir: /nowhere: no program"),
        (
            '"postgres"',
            '"null", settings = { a = 1 }',
            'my.toml:3: subject.settings.a: the null subject has no setting "a"',
        ),
        (
            '"postgres"',
            '"null", settings = { delay_us = -1 }',
            "my.toml:3: subject.settings.delay_us: -1 is not a whole number from 0",
        ),
        (
            "[factors.handle]",
            "[workload.transactions]\nt = { statements = ['lok'] }\n[factors.handle]",
            'no statement "lok"',
        ),
    ],
)
def test_a_study_that_cannot_run_is_refused_before_anything_starts(old: str, new: str, expected: str) -> None:
    text = SQL.replace(old, new, 1)
    if expected:
        assert expected in refused(text)
    else:
        PreparedStudy.of(text, "my.toml")


def test_texts_that_no_statement_tells_apart_are_refused() -> None:
    text = SQL.replace(" as a{tag}", "").replace('kind = "sql"', 'kind = "sql"\ntext = "unique"')
    text = text.replace('"named" }', '"unnamed" }')
    assert "my.toml:9: workload.statements: text is 'unique', but no statement" in refused(text)


def test_two_factors_that_set_the_same_are_refused() -> None:
    text = (
        MINIMAL
        + '\n[factors.again]\nscope = "client"\nsetting = "handle"\nlevels = { A = "none", B = "left" }\n'
    )
    assert "my.toml:19: factors.again: the factors handle and again both set handle" in refusal(text)


def test_a_fixed_setting_that_every_level_replaces_is_refused() -> None:
    text = MINIMAL.replace('"postgres"', '"postgres"\nsettings = { shared_buffers = "1GB" }')
    assert "my.toml:6: subject.settings.shared_buffers: has no effect" in refusal(text)


def test_a_level_that_changes_nothing_beside_another_is_refused() -> None:
    text = (
        MINIMAL
        + '\n[factors.many]\nscope = "client"\nsetting = "distinct_texts"\nlevels = { A = 2, B = 9 }\n'
    )
    assert "distinct_texts has no effect in DYN0_ST0M_A: text is 'identical'" in refused(text)


def test_an_exclusion_of_what_is_not_there_is_refused_with_its_line() -> None:
    text = MINIMAL + '\n[[exclude]]\nhandle = "DYN2"\n'
    assert refusal(text).startswith('my.toml:20: exclude.0.handle: no level "DYN2"; did you mean')


def test_a_combination_that_cannot_be_sent_asks_for_an_exclusion() -> None:
    text = MINIMAL + '\n[factors.text]\nscope = "client"\nlevels = { I = "identical", U = "unique" }\n'
    assert "prepares once what is never seen again" in refused(text)


@pytest.mark.parametrize("name", list(catalogue()))
def test_every_built_in_study_can_be_planned(name: str) -> None:
    study, text = find_study(name)
    needs(*{"mariadb": ["MariaDB"], "virtual-machine": GUESTS}.get(study.subject.kind, []))
    needs(*["pgbouncer"] if name == "pooler" else [])
    needs(*["PostgreSQL 15"] if "/usr/lib/postgresql/15" in text else [])
    needs(*["a JDK"] if '"javac"' in text else [])
    prepared = PreparedStudy.of(text, name)
    assert prepared.study.name == name
    assert len(prepared.options) >= 2


def test_the_statement_matrix_leaves_out_what_cannot_be_combined() -> None:
    found = options(find_study("statements")[0])
    assert len(found) == 53
    assert not [o for o in found if o.levels["handle"] == "HDL2" and o.levels["text"] == "TXTU"]


def test_the_schema_describes_every_key() -> None:
    assert '"smallest_effect_percent"' in json_schema()


def test_what_the_command_line_changes_is_written_into_the_study() -> None:
    text = adjusted("aa", blocks=3, clients="1,8", measure_s=0.5).text
    plan = parse_study(text, "aa").plan
    assert (plan.blocks, plan.clients, plan.measure_s) == (3, [1, 8], 0.5)


@pytest.mark.parametrize(("until", "percent"), [("1%", 1), ("0.5 %", 0.5), ("2", 2)])
def test_until_is_the_rule_of_the_plan(until: str, percent: float) -> None:
    stop = parse_study(adjusted("aa", until=until).text, "aa").plan.stop
    assert stop == Stop(half_width_percent=percent)


def planned(seed: int, count: int, levels: int) -> Study:
    text = MINIMAL.partition("[factors.cache]")[0]
    study = parse_study(text, "my.toml")
    codes = {f"L{number}": "named" for number in range(levels)}
    factor = study.factors["handle"].model_copy(update={"levels": codes})
    plan = study.plan.model_copy(update={"seed": seed, "blocks": count})
    return study.model_copy(update={"factors": {"handle": factor}, "plan": plan})


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(2, 9))
def test_every_block_holds_every_option_once(seed: int, count: int, levels: int) -> None:
    study = planned(seed, count, levels)
    found = options(study)
    made = list(blocks(study, found))
    assert len(made) == count
    for block in made:
        assert sorted(slot.option.label for slot in block) == sorted(o.label for o in found)
        assert [slot.slot for slot in block] == list(range(1, levels + 1))


@given(st.integers(0, 10_000), st.integers(2, 9))
def test_a_steady_drift_weighs_on_all_options_alike_over_a_pair_of_blocks(seed: int, levels: int) -> None:
    study = planned(seed, 2, levels)
    order = [slot.option.label for block in blocks(study, options(study)) for slot in block]
    drift: dict[str, int] = {}
    for time, label in enumerate(order):
        drift[label] = drift.get(label, 0) + time
    assert len(set(drift.values())) == 1


def test_the_order_depends_on_the_seed_alone() -> None:
    def order(seed: int) -> list[str]:
        study = planned(seed, 6, 5)
        return [slot.option.label for block in blocks(study, options(study)) for slot in block]

    state = random.getstate()
    assert order(1) == order(1) != order(2)
    assert random.getstate() == state


def test_mutated_studies_are_taken_or_refused() -> None:
    fuzz = runpy.run_path(str(Path(__file__).parents[2] / "benches" / "fuzz_study.py"))
    became = {fuzz["attempt"](fuzz["made"](seed)) for seed in range(300)}
    assert became == {"study", "refused"}
