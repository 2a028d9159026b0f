"""Studies of programs that report a score: what is refused, and by what a score is better."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import InputError
from steelyard.study.workloads.program import lower_is_better
from steelyard.subjects.programs import divide
from steelyard.workflow.prepare import PreparedStudy

STUDY = """\
name = "instances"
question = "Which?"

[subject]
kind = "program"

[workload]
kind = "program"
command = ["sh", "-c", "echo bops = $(({base} * ({instance} + 1))) of {instances} on {cpus}"]
variables = { base = 1000 }
score = { pattern = 'bops = (\\d+)' }
unit = "bops"

[factors.base]
scope = "client"
levels = { B1 = 1000, B2 = 2000 }

[plan]
clients = [1, 2]
cool_down_s = 0
blocks = 5
"""


@given(st.sets(st.integers(0, 4000), min_size=1, max_size=300), st.integers(1, 400))
def test_processor_sets_are_apart_and_even(cpus: set[int], instances: int) -> None:
    sets = divide(cpus, instances)
    assert len(sets) == instances and all(sets)
    assert set().union(*sets) <= cpus
    if instances <= len(cpus):
        assert sum(map(len, sets)) == len(cpus) and set().union(*sets) == cpus
        assert max(map(len, sets)) - min(map(len, sets)) <= 1
    else:
        assert {len(one) for one in sets} == {1} and set().union(*sets) == cpus


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        PreparedStudy.of(text, "my.toml")
    return f"{caught.value} | {caught.value.hint}"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('["sh",', '["shh-none",', 'my.toml:9: workload.command: program "shh-none" not found'),
        ("of {instances}", "of {instnces}", 'command: unknown {instnces}; did you mean "instances"?'),
        (
            "{ base = 1000 }",
            "{ base = 1000, more = 1 }",
            "my.toml:10: workload.variables.more: has no effect",
        ),
        ("{ base = 1000 }", "{ base = 1000, cpus = 1 }", 'variables: invalid name "cpus"; reserved: '),
        ("(\\d+)", "\\d+", "needs exactly one group (...) around the number, has 0"),
        ("(\\d+)", "(\\d+", "not a regular expression"),
        ("{ pattern = 'bops = (\\d+)' }", "{}", "give either pattern or json_path"),
        ("levels = { B1", "setting = 'bse'\nlevels = { B1", 'no setting "bse" of scope client; did you mean'),
        ('scope = "client"', 'scope = "session"', "scope 'session' cannot act on a program"),
        ('kind = "program"', 'kind = "null"', 'the subject "null" cannot run a workload of kind "program"'),
        ('kind = "program"', 'kind = "program"\nsettings = { placement = "sets" }', 'did you mean "set"?'),
        ('kind = "program"', 'kind = "program"\nsettings = { share = true }', "share: has no effect"),
        (
            'kind = "program"',
            'kind = "program"\nsettings = { placement = "set" }',
            "instances cannot have a processor set each: CPUs: ",
        ),
    ],
)
def test_a_study_of_a_program_is_refused_with_what_would_mend_it(old: str, new: str, expected: str) -> None:
    text = STUDY.replace("clients = [1, 2]", "clients = [1, 5000]") if "processor" in expected else STUDY
    assert old in text
    assert expected in refusal(text.replace(old, new, 1))


def test_a_program_that_is_not_installed_is_refused_with_the_line_that_installs_it() -> None:
    text = STUDY.replace('["sh",', '["java-none",').replace(
        "unit =", 'install = "apt-get install -y openjdk-17-jdk-headless"\nunit ='
    )
    assert refusal(text).endswith("| apt-get install -y openjdk-17-jdk-headless")


def test_statements_are_no_work_for_a_program() -> None:
    text = (
        STUDY.partition("[workload]")[0]
        + '[factors.handle]\nscope = "client"\nlevels = { A = "none", B = "named" }\n'
    )
    assert 'the subject "program" cannot run a workload of kind "lookup"' in refusal(text)


OF_SCORE = STUDY[STUDY.index("score =") : STUDY.index("[factors")]


@pytest.mark.parametrize("key", ['unit = "ms"', 'better = "lower"', "time = { pattern = '(x)' }"])
def test_a_key_of_the_score_without_a_score_is_refused(key: str) -> None:
    said = refusal(STUDY.replace(OF_SCORE, key + "\n"))
    assert f"workload.{key.partition(' ')[0]}: has no effect: there is no score" in said


@pytest.mark.parametrize(
    ("unit", "lower"),
    [
        *((unit, True) for unit in ("ms", "s", "us/op", "Minutes", "msec", "usec", "nsec", "secs", "millis")),
        *((unit, True) for unit in ("µs", "\u03bcs", "µsec/op")),
        *((unit, False) for unit in ("bops", "ops/s", "critical-jOPS", "kIOPS", "MB/sec", "jobs/h", "tpmC")),
        ("seconds per query", True),
        ("requests per second", False),
    ],
)
def test_a_time_is_better_when_lower(unit: str, lower: bool) -> None:
    assert lower_is_better(unit, None) is lower
    assert lower_is_better(unit, "lower") and not lower_is_better(unit, "higher")


@pytest.mark.parametrize("unit", ["MiB", "cycles/op", "%", "drops"])
def test_a_unit_that_is_neither_a_time_nor_a_rate_needs_better(unit: str) -> None:
    text = STUDY.replace('"bops"', f'"{unit}"')
    assert f'my.toml:12: workload.unit: unit "{unit}" is neither a time nor a rate' in refusal(text)
    further = STUDY.replace("[factors", f"scores.more = {{ json_path = 'a', unit = '{unit}' }}\n[factors", 1)
    assert 'unit: unit "' in refusal(further)
    PreparedStudy.of(text.replace("[factors", 'better = "lower"\n[factors', 1), "my.toml")
