"""Each of many broken studies is refused before block 1, at the same place in a dry run and in a run."""

from __future__ import annotations

import broken_studies
import pytest
from broken_studies import Broken
from laboratory import Lab
from rehearsed import is_refused

BROKEN = [*broken_studies.of_postgres(), *broken_studies.of_sqlite(), *broken_studies.of_the_machine()]
MARIADB = [pytest.param(broken, marks=pytest.mark.needs("MariaDB")) for broken in broken_studies.of_mariadb()]


@pytest.mark.parametrize("broken", [*BROKEN, *MARIADB], ids=lambda broken: broken.what)
def test_it_is_refused_alike_in_a_dry_run_and_in_a_run(lab: Lab, broken: Broken) -> None:
    is_refused(lab, broken)
