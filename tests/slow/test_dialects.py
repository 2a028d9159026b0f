"""A driver whose server takes backslashes as they are."""

from __future__ import annotations

import pytest
from dialects import CONNECTOR_J, runs_without_errors
from java_engine import needs_java
from laboratory import Lab


@needs_java
@pytest.mark.needs("MariaDB")
def test_a_driver_escapes_no_backslash_where_the_server_reads_none(lab: Lab) -> None:
    runs_without_errors(lab, "NO_BACKSLASH_ESCAPES", CONNECTOR_J)
