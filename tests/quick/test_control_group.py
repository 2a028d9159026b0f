"""Shares of the CPUs by control groups: bad ones are refused with their line."""

from __future__ import annotations

import pytest

from steelyard.errors import InputError
from steelyard.study.load_study import parse_study

STUDY = """\
name = "shares"
question = "Which way?"

[subject]
kind = "null"

[workload]
kind = "lookup"
rows = 1000

[host]
hogs.count = 1
{fixed}

[factors.share]
scope = "host"
levels = {{ HALF = {{ engine.cpu_quota = 0.5 }}, ONE = {{ engine.cpu_quota = 1 }} }}

[plan]
clients = [2]
warm_up_s = 0.1
measure_s = 1
cool_down_s = 0.1
blocks = {blocks}

[monitors]
processes = 5
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("server.cpu_wieght = 3", 'did you mean "server.cpu_weight"?'),
        ("server.cpu_weight = 0", "a whole number from 1 to 10000"),
        ("server.cpu_quota = 0", "CPUs from 0.01 to 8192"),
        ('server.cpuset = "3-1"', "not a list of CPUs"),
        ('server.cpuset = "0"\nserver.cpus = "0"', "already sets the CPUs"),
        ('server.policy = "rr"\nserver.cpu_weight = 5', "processes ignore weights"),
    ],
)
def test_a_bad_share_is_refused_with_its_line(line: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_study(STUDY.format(fixed=line, blocks=1), "s.toml")
    assert message in str(refused.value)
    assert str(refused.value).startswith("s.toml:")
