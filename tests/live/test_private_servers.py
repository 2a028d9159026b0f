"""Nobody but the lab gets at the servers of a study, and a server's account owns nothing else."""

from __future__ import annotations

from laboratory import Lab
from needs import needs_root
from private_server import check_privacy
from processes import as_user

from steelyard.errors import InputError
from steelyard.subjects.servers.identity import account_of_servers


def test_nobody_but_the_lab_gets_at_a_server_and_the_server_gets_no_secrets(lab: Lab) -> None:
    check_privacy(lab, "postgres")


@needs_root
def test_a_caller_without_a_name_is_refused_before_anything_is_made() -> None:
    def account() -> str:
        try:
            account_of_servers()
        except InputError as error:
            return f"{error} ({error.hint})"
        return "accepted"

    assert as_user(54321, account) == (
        "user 54321 has no name on this machine: servers refuse to run as this user"
        " (add the user to /etc/passwd, or run as another user)"
    )
