"""The command line as a user meets it, where one option of a study fails."""

from __future__ import annotations

import json
from pathlib import Path

from laboratory import Lab, small_study


def failing(lab: Lab, statement: str) -> Path:
    """A study of two options on PostgreSQL with a statement of its own."""
    study = small_study(lab.folder, subject="postgres")
    text = study.read_text().replace("rows = 1000", 'kind = "sql"')
    study.write_text(f'{text}\n[workload.statements.own]\nsql = "{statement}"\n')
    return study


def test_a_study_of_which_one_option_cannot_run_is_not_told_to_be_resumed(lab: Lab) -> None:
    study = failing(lab, "select 1 / current_setting('app.divisor')::int")
    text = study.read_text().replace("blocks = 2", "blocks = 2\nseed = 5")
    text = text.replace('scope = "client"', 'scope = "session"\nsetting = "app.divisor"')
    study.write_text(text.replace('simple = "none", named = "named"', 'simple = "1", named = "0"'))
    done = lab.run("run", study, "--bundle", lab.bundle)
    assert done.returncode == 1
    assert "option named: no transaction succeeded" in done.stderr
    finished = lab.run("sql", lab.bundle, "select option from runs where status = 'done'", "--json")
    assert json.loads(finished.stdout) == [{"option": "simple"}]
    assert "resume" not in done.stderr
