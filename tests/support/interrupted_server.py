"""A study whose server is interrupted under load, and how its runs end."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from laboratory import Lab, nothing_left, parent_is_not_postgres, small_study, under_load
from processes import family

from steelyard.bundle.reader import Bundle

ROW = "select status, cause from runs order by run"


def postmaster(lab: Lab) -> int:
    return next(pid for pid in lab.ours("postgres -D") if parent_is_not_postgres(pid))


def titled(pids: list[int], title: str) -> int:
    """The process of PostgreSQL whose title holds this."""
    return next(
        pid for pid in pids if title in Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    )


def under_way(lab: Lab, subject: str, measure_s: float = 3) -> None:
    study = small_study(lab.folder, subject=subject, blocks=1, measure_s=measure_s)
    lab.start("run", study, "--bundle", lab.bundle)
    lab.wait_for(lambda: under_load(lab), "a run under load")


def ended(lab: Lab) -> tuple[list[str], str]:
    """Status of each run, and the cause of the first."""
    _, err = lab.processes[0].communicate(timeout=150)
    assert lab.processes[0].returncode == 0, err
    # libraries say nothing of a lost connection
    assert "psycopg" not in err, err
    rows = Bundle(lab.bundle).columns(ROW)
    lab.wait_for(lambda: nothing_left(lab), "the end of everything")
    return list(map(str, rows["status"])), str(rows["cause"][0])


def check_killed_process(lab: Lab, title: str) -> None:
    """The postmaster ends all others, recovers and goes on: clients reconnect, and 'done' would be wrong."""
    under_way(lab, "postgres")
    os.kill(titled(family(postmaster(lab))[1:], title), signal.SIGKILL)
    status, cause = ended(lab)
    assert status == ["void", "done", "done"]
    # where it recovers for longer, connecting fails
    assert any(words in cause for words in ("crash", "connections were lost", "recovery mode")), cause
    assert "was terminated by signal 9" in (lab.bundle / "logs" / "0001.log").read_text()
