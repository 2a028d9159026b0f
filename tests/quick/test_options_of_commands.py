"""Of each command each pair of options is honoured, or refused with the name of one of the two."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import combinations
from pathlib import Path

import layouts
import pytest
from click import Context
from click.testing import CliRunner

import damage
from damage import make_bundle
from steelyard.cli.commands import cli
from steelyard.report.charts import figure

LOG = (
    '{"timestamp":"2026-11-22 10:00:01.123 UTC","session_id":"c","error_severity":"LOG",'
    '"message":"duration: 1 ms  statement: select 1","dbname":"c"}\n'
)
# what is recognised and short needs none of these: recordings/test_limits.py
UNSEEN = {"--format", "--minutes"}
PRINTED = {"--list", "--example", "--example-table"}
# of each command what it reads, and its options, each with a value that makes a difference
COMMANDS: Mapping[str, tuple[list[str], Mapping[str, list[str]]]] = {
    "compare": (
        ["b", "other"],
        {
            "--as": ["--as", "B=A", "--as", "A=B"],
            "--force": ["--force"],
            "--json": ["--json"],
            "--html": ["--html", "c.html"],
        },
    ),
    "report": (
        ["b"],
        {
            "--html": ["--html", "r.html"],
            "--images": ["--images", "images"],
            "--overlay": ["--overlay", "other"],
            "--json": ["--json"],
            "--markdown": ["--markdown"],
        },
    ),
    "export": (["b", "out"], {"--format": ["--format", "json"], "--table": ["--table", "runs"]}),
    "import": (
        ["results"],
        {
            "--option": ["--option", "A=results/*/*.txt"],
            "--by-folder": ["--by-folder"],
            "--to": ["-o", "i.bundle"],
            "--dry-run": ["--dry-run"],
            "--format": ["--format", "drivers/pgbench"],
            "--minutes": ["--minutes", "5"],
            "--list": ["--list"],
            "--example": ["--example"],
            "--example-table": ["--example-table"],
        },
    ),
    "capture-load": (
        ["log.json"],
        {
            "--output": ["-o", "captured"],
            "--database": ["--database", "d"],
            "--values": ["--values", "values.toml"],
        },
    ),
}
REFUSED = {
    ("report", "--json", "--markdown"),
    ("import", "--option", "--by-folder"),
    *(("import", *pair) for pair in combinations(COMMANDS["import"][1], 2) if PRINTED & {*pair}),
    ("capture-load", "--database", "--values"),
}  # fmt: skip
PAIRS = [(command, *pair) for command, (_, options) in COMMANDS.items() for pair in combinations(options, 2)]


Outcome = tuple[int, str, list[tuple[str, int]]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        # each command reads all runs, and one block has all options
        patch.setattr(damage, "STUDY", damage.STUDY.replace("blocks = 4", "blocks = 1"))
        make_bundle(folder / "b")
        make_bundle(folder / "other")
        shutil.copytree(folder / "b", folder / "copy")
        patch.setattr(damage, "STUDY", damage.STUDY.replace("rows = 1000", "rows = 2000"))
        make_bundle(folder / "unlike")
    for name in "AB":
        (folder / "results" / name).mkdir(parents=True)
        # no two runs are equal to the last figure
        text = layouts.PGBENCH.replace("31.495", f"31.49{ord(name)}")
        (folder / "results" / name / "p.txt").write_text(text)
    (folder / "log.json").write_text(LOG + LOG.replace('"c"', '"d"'))
    (folder / "mix.csv").write_text("query,calls\nselect 1 from t where a = $1,5\n")
    (folder / "values.toml").write_text('[q1]\np1 = { kind = "uniform", low = 1, high = 9 }\n')
    (folder / "schedule.toml").write_text('name = "s"\n[options.A]\nfiles = ["results/A/*"]\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert CliRunner().invoke(cli, ["import", "schedule.toml", "-o", "one-point"]).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def outcome(made: Path) -> Iterator[Callable[..., Outcome]]:
    """Exit code, what the command prints, and the files afterwards with their sizes."""
    place = made.with_name("work")

    @cache
    def of(*arguments: str) -> Outcome:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(made, place)
        patch.chdir(place)
        done = CliRunner().invoke(cli, arguments)
        files = sorted((str(one.relative_to(place)), one.stat().st_size) for one in place.rglob("*"))
        return done.exit_code, f"{done.output}{done.exception or ''}", files

    with pytest.MonkeyPatch.context() as patch:
        # the charts' captions say what is in them
        patch.setattr(figure, "draw", lambda *_: b'<svg xmlns="http://www.w3.org/2000/svg"/>')
        yield of


@pytest.mark.parametrize(("command", "one", "other"), PAIRS)
def test_a_pair_of_options_is_honoured_or_refused(
    command: str, one: str, other: str, outcome: Callable[..., Outcome]
) -> None:
    reads, options = COMMANDS[command]
    if "--force" in (one, other):
        reads = ["b", "unlike"]
    elif command == "import":
        reads = [] if "--option" in (one, other) else ["results/A/p.txt"]
    elif (one, other) == ("--output", "--values"):
        reads = ["mix.csv"]
    elif command == "capture-load" and "--output" not in (one, other):
        reads = ["log.json", "-o", "captured"]
    whole = outcome(command, *reads, *options[one], *options[other])
    if (command, one, other) in REFUSED:
        assert whole[0] and (one in whole[1] or other in whole[1]), whole
        assert whole[2] == outcome("schema")[2], "something was written"
        return
    assert whole[0] == 0, whole
    for option, without in ((one, other), (other, one)):
        assert without in UNSEEN or outcome(command, *reads, *options[option]) != whole, (
            f"{option}: as without the other"
        )


def test_every_option_of_these_commands_is_tried() -> None:
    for command, (_, options) in COMMANDS.items():
        found = cli.get_command(Context(cli), command)
        assert found is not None
        assert {
            max(one.opts, key=len) for one in found.params if one.param_type_name == "option"
        } == options.keys()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("export b out --format folded --table runs", "--table: folded is a profile, without tables"),
        ("capture-load mix.csv -o captured --database d", "--database has no effect"),
        ("import schedule.toml --by-folder", "--by-folder: schedule.toml says which option"),
        ("import --by-folder", "no files to import"),
        ("import schedule.toml --format system/sar", "--format: schedule.toml says which format"),
        ("import -o x.bundle", "nothing to import"),
        ("dispatch --bursts b --trace --hz 50", "no use of --trace, --hz"),
        ("dispatch --bursts b standard extended", "no use of table, other"),
        ("compare b copy", "two of them are copies of one bundle"),
        ("compare b other --as A=B --as A=A", "--as: an option there is named twice"),
        ("report b --overlay one-point", "--overlay one-point: no curves without two load points"),
    ],
)
def test_an_option_without_effect_is_refused(
    arguments: str, said: str, outcome: Callable[..., Outcome]
) -> None:
    code, text, _ = outcome(*arguments.split())
    assert code and said in text
