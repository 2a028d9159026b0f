"""At an address behind a pooler that keeps sessions, the lab leaves them as they were."""

from __future__ import annotations

import servers
from at_address import check_behind_a_pooler
from laboratory import Lab


def test_a_study_leaves_the_sessions_of_a_pooler_in_session_mode_as_they_were(lab: Lab) -> None:
    with servers.postgres(log_statement="all") as server:
        check_behind_a_pooler(lab, server, "session")
