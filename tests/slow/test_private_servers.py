"""Nobody but the lab gets at the server of a study: MariaDB."""

from __future__ import annotations

import pytest
from laboratory import Lab
from private_server import check_privacy


@pytest.mark.needs("MariaDB")
def test_nobody_but_the_lab_gets_at_a_server_and_the_server_gets_no_secrets(lab: Lab) -> None:
    check_privacy(lab, "mariadb")
