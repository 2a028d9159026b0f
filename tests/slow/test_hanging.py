"""Nothing that hangs hangs the lab: the other servers, the other ends, and silence."""

from __future__ import annotations

import signal

import pytest
from hanging import check_end_with_the_lab, check_silence, check_stopped_server
from laboratory import Lab


@pytest.mark.needs("MariaDB")
def test_a_mariadb_stopped_under_load_gives_a_void_run_and_the_study_goes_on(lab: Lab) -> None:
    check_stopped_server(lab, "mariadb")


def test_a_stopped_server_is_ended_with_the_lab_by_ctrl_c(lab: Lab) -> None:
    check_end_with_the_lab(lab, signal.SIGINT)


@pytest.mark.parametrize(("subject", "period_s"), [("postgres", 1000), ("mariadb", 1), ("mariadb", 1000)])
def test_an_address_that_accepts_and_does_not_answer_is_bad_input(
    lab: Lab, subject: str, period_s: float
) -> None:
    check_silence(lab, subject, period_s)
