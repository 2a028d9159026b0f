"""A server that dies, restarts or recovers under load gives no result: the run is void and redone."""

from __future__ import annotations

from interrupted_server import check_killed_process
from laboratory import Lab


def test_a_killed_session_of_a_server_voids_the_run(lab: Lab) -> None:
    check_killed_process(lab, "steelyard")
