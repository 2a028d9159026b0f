"""jTDS against a server that counts: what its settings send for a transaction."""

from __future__ import annotations

from java_engine import needs_java
from jtds_study import Way, documented
from laboratory import Lab

pytestmark = needs_java


def test_requests_of_a_setting_are_those_of_the_documentation(lab: Lab) -> None:
    documented(
        lab,
        [
            Way("per-use", 1, 2, "unique"),
            Way("named", 1, 500, "refused"),
        ],
    )
