"""What the shell completes: commands, options, studies, bundles, tables, subjects, recordings."""

from __future__ import annotations

from pathlib import Path

import pytest
from laboratory import Lab


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A folder with a bundle, a folder that may hold some, and a file."""
    folder: Path = tmp_path_factory.mktemp("completion")
    (folder / "mine.bundle").mkdir()
    (folder / "mine.bundle" / "bundle.json").write_text("{}")
    (folder / "more").mkdir()
    (folder / "mine.toml").write_text("")
    return Lab(folder)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("steelyard ru", ["plain,run"]),
        ("steelyard run dem", ["plain,demo", "file,dem"]),
        ("steelyard studies statement-", ["plain,statement-leak", "file,statement-"]),
        ("steelyard run demo --qu", ["plain,--quick"]),
        ("steelyard run demo --subject mari", ["plain,mariadb"]),
        ("steelyard report mi", ["plain,mine.bundle"]),
        ("steelyard compare mine.bundle m", ["plain,mine.bundle", "plain,more/"]),
        ("steelyard resume ./mi", ["plain,./mine.bundle"]),
        ("steelyard export mine.bundle out --table throu", ["plain,throughput"]),
        ("steelyard import usl-", ["plain,usl-cisco", "file,usl-"]),
        ("steelyard report mine.bundle --overlay usl", ["plain,usl-cisco"]),
        ("steelyard rnu x", []),
        ("steelyard sql nowhere/", []),
    ],
)
def test_the_shell_completes(there: Lab, line: str, expected: list[str]) -> None:
    done = there.run(
        _STEELYARD_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(line.split()) - 1)
    )
    assert done.stderr == ""
    assert [line for line in done.stdout.splitlines() if line] == expected


def test_the_script_for_a_shell_is_printed(there: Lab) -> None:
    done = there.run(_STEELYARD_COMPLETE="bash_source")
    assert done.returncode == 0
    assert "_STEELYARD_COMPLETE=bash_complete" in done.stdout
