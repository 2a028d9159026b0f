"""Recordings answer their author's question by their own tables, and check the author's figures."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from steelyard.analysis.judge import judge
from steelyard.analysis.judgement import Judgement
from steelyard.analysis.verdict.published import answer, claims
from steelyard.bundle.evidence.published import Published
from steelyard.bundle.reader import Bundle
from steelyard.cli.commands import cli
from steelyard.errors import InputError
from steelyard.recordings.importing import write_published
from steelyard.recordings.published import catalogue
from steelyard.study.workloads.published import Answered, PublishedWorkload


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recordings")


@pytest.fixture(scope="module")
def works(recordings: Path) -> dict[str, PublishedWorkload]:
    found: dict[str, PublishedWorkload] = {}
    for name in catalogue():
        work = write_published(name, recordings / name).workload
        assert isinstance(work, PublishedWorkload) and work.answer
        found[name] = work
    return found


def told(work: Answered, folder: Path) -> tuple[list[str], dict[str, tuple[str, str]]]:
    """The first two sentences, and by claim what is computed and the check."""
    published = Published.of(work, {name: folder / name for name in work.tables})
    found = answer(published)
    assert found is not None
    return [found.headline, found.interval], {
        one.says: (one.computed, one.check) for one in claims(published)
    }


def copied(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    shutil.copytree(next(iter(catalogue().values())).parent, folder)
    return folder


def rows_of(place: Path) -> list[list[str]]:
    with place.open(newline="") as file:
        return list(csv.reader(file))


def write_rows(place: Path, rows: list[list[str]]) -> None:
    with place.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.mark.parametrize("name", catalogue())
def test_figures_and_sentences_follow_the_cells_of_each_table(
    works: dict[str, PublishedWorkload], tmp_path: Path, name: str
) -> None:
    work, folder = works[name], copied(tmp_path)
    sentences, checks = told(work, folder)
    changed_sentences: set[int] = set()
    changed_claims: set[str] = set()
    expected = {claim.says for claim in work.claims if claim.sql and "regexp_extract" not in claim.sql}
    for table in work.tables:
        place = folder / table
        rows = rows_of(place)
        changes = False
        # each column, and each row until nothing is left to find
        places = [[(line, column) for column in range(len(rows[0]))] for line in range(1, len(rows))]
        for some in [*zip(*places, strict=True), *places]:
            if changes and 0 in changed_sentences and len(changed_claims) == len(expected):
                # all that is to follow does: further rows would only repeat it
                break
            other = [list(cells) for cells in rows]
            for line, column in some:
                if re.fullmatch(r"\d+(\.\d+)?", cell := rows[line][column]):
                    other[line][column] = f"{3 * float(cell) + 1:g}"
            if other == rows:
                continue
            write_rows(place, other)
            now, found = told(work, folder)
            changed_sentences |= {i for i in (0, 1) if now[i] != sentences[i]}
            changed_claims |= {says for says in checks if found[says] != checks[says]}
            changes = changes or now != sentences or found != checks
        assert changes, f"no cell of {table} matters"
        write_rows(place, rows)
    assert 0 in changed_sentences
    assert changed_claims == expected


@pytest.mark.parametrize("name", catalogue())
def test_without_a_column_nothing_is_made_up(
    works: dict[str, PublishedWorkload], tmp_path: Path, name: str
) -> None:
    work, folder = works[name], copied(tmp_path)
    unanswered = False
    unchecked: set[str] = set()
    for table in work.tables:
        rows = rows_of(folder / table)
        for column in range(len(rows[0])):
            write_rows(folder / table, [[c for i, c in enumerate(row) if i != column] for row in rows])
            sentences, checks = told(work, folder)
            unanswered = unanswered or sentences[0].startswith("The tables do not answer the question")
            unchecked |= {says for says, (computed, check) in checks.items() if check == "cannot be checked"}
            assert all(
                bool(computed) is (check != "cannot be checked") for computed, check in checks.values()
            )
        write_rows(folder / table, rows)
    assert unanswered and unchecked == {claim.says for claim in work.claims}


@pytest.mark.parametrize("name", catalogue())
def test_no_figure_of_an_answer_stands_in_its_text(works: dict[str, PublishedWorkload], name: str) -> None:
    work = works[name]
    assert work.answer
    for sql in (work.answer.follows, work.answer.left_open):
        texts = [
            text for compared, text in re.findall(r"([=>] )?'([^']*)'", sql) if " " in text and not compared
        ]
        # JVMs of 16 strands are the question, not a figure
        assert not [text for text in texts if re.search(r"\d", text.replace("16 strands", ""))]


@pytest.fixture(scope="module")
def judged(recordings: Path, works: dict[str, PublishedWorkload]) -> Callable[[str], Judgement]:
    assert works
    return cache(lambda name: judge(Bundle(recordings / name).evidence()))


@pytest.mark.parametrize(
    ("name", "says", "computed", "check"),
    [
        (
            "dc3-specjbb2005",
            "bops that DC2 and DC3 systems reach with tuning",
            "535,630 bops",
            "does not follow",
        ),
        ("dc3-specjbb2005", "figures of bops per JVM that its totals give", "7 figures", "agrees"),
        ("dispatch-tpce", "customers of the database", "80,000 customers", "does not follow"),
        ("dispatch-ff2", "throughput of the tuned run, as a multiple", "", "cannot be checked"),
        ("dispatch-dc1", "throughput of the tuned run, as a multiple", "", "cannot be checked"),
        ("kernel-modes", "the drop in loops of some process mode clients", "−16.7 %", "does not follow"),
        ("kernel-modes", "the gain in loops of other process mode clients", "25 %", "does not follow"),
        ("kernel-modes-vm", "more CPU in threaded mode", "14.3 %", "does not follow"),
        ("kernel-2.5.26", "more throughput of 2.5.26+ than of 2.4.17+", "", "cannot be checked"),
        ("kernel-2.5.26", "samples in user mode", "68.8 %", "agrees"),
        ("result-cache-i7", "misses per get at 6 processes", "17.26 %", "agrees"),
        ("result-cache-i7", "sleeps per miss at 6 processes", "0.00212 %", "agrees"),
        ("result-cache-i7", "figures of % linear that its throughputs give", "24 figures", "agrees"),
        ("result-cache-t2", "misses per get at 8 processes", "30.37 %", "does not follow"),
        ("result-cache-t2", "sleeps per miss at 8 processes", "0.00165 %", "does not follow"),
        ("result-cache-t2", "misses per get of 11gR1 at 8 processes", "", "cannot be checked"),
        ("statement-matrix", "more procedure requests per second in process mode", "", "cannot be checked"),
    ],
)
def test_claims_of_the_five_sources(
    judged: Callable[[str], Judgement], name: str, says: str, computed: str, check: str
) -> None:
    (claim,) = [one for one in judged(name).claims if one.says.startswith(says)]
    assert (claim.computed, claim.check) == (computed, check)


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("statement-matrix", ["2.00 in both kernel modes", "700 to 1,400/s", "20 of 24 runs"]),
        (
            "kernel-modes-vm",
            ["14.3 % more", "32 against 28 %", "20.0 % more", "42 against 35 %", "no totals"],
        ),
        (
            "kernel-modes",
            ["8.33 % more", "260 against 240", "engines busy 90 %", "50.0 % more", "300 and 200", "10 loops"],
        ),
        ("result-cache-t2", ["92.6 %", "95.4 %", "up to 11, the buffer cache at 12"]),
        ("dc3-specjbb2005", ["80.2 % more with 8 JVMs", "32 JVMs", "535,630 bops", "510,639"]),
        ("kernel-2.5.26", ["8.00 % more", "2.00 % of 65,591,728"]),
        ("dispatch-ff2", ["0.444 % fewer", "170,490 against 171,250"]),
        ("usl-cisco", ["27 clients", "12,211/s"]),
    ],
)
def test_the_first_two_sentences_answer_the_question(
    judged: Callable[[str], Judgement], name: str, figures: list[str]
) -> None:
    found = judged(name).verdict
    text = f"{found.headline} {found.interval}"
    assert [figure for figure in figures if figure not in text] == []
    assert found.winner is None and "steelyard run " in found.consequence


def test_a_recording_is_reported_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(cli, ["report", "statement-matrix"])
    assert shown.exit_code == 0 and Path("statement-matrix.bundle/report.html").is_file()
    # one run each: no cell says that it has no interval, gaps are gaps
    assert "[no interval]" not in shown.output and "n/a" not in shown.output
    page = Path("statement-matrix.bundle/report.html").read_text().partition("<main>")[2]
    assert page.count(">on, 20 MB</td>") == 12 and "Claims of the source" in page


def own(folder: Path, **keys: str) -> Path:
    (folder / "mine.csv").write_text("clients,per_s\n1,10\n2,19\n")
    said = {
        "follows": "select figure(max(per_s)) from published.mine",
        "sql": "select 1",
        "tables": '["mine.csv"]',
    }
    said |= keys
    (folder / "mine.toml").write_text(
        'source = "a bench"\n[options.mine]\nfiles = ["mine.csv"]\n'
        f"[workload]\ntables = {said['tables']}\n"
        f'[workload.answer]\nfollows = """{said["follows"]}"""\nleft_open = "select \'\'"\n'
        'settle = "More runs"\n'
        f'[[workload.claims]]\nsays = "it"\npublished = "1"\nsql = """{said["sql"]}"""\n'
    )
    return folder / "mine.toml"


@pytest.mark.parametrize(
    "sql",
    [
        "select nothing", "select 'text'", "select null", "select 1 / 0", "select",
        "from published.mine limit 0",
        "copy published.mine to '{}/out.csv'", "select count(*) from read_csv('/etc/passwd')",
        "attach '{}/x.db' as x; select 1", "set enable_external_access = true",
        "update published.mine set per_s = 1; select 1", "select 1; select 2",
        "with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r",
    ],
)  # fmt: skip
def test_a_query_that_gives_no_figure_or_reaches_out_is_no_check(
    tmp_path: Path, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.bundle.evidence.published._LONGEST_S", 0.5)
    write_published(str(own(tmp_path, sql=sql.format(tmp_path))), tmp_path / "out")
    (claim,) = judge(Bundle(tmp_path / "out").evidence()).claims
    assert claim.check == "cannot be checked" and claim.remark and not claim.computed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv", "mine.toml", "out"]


def test_tables_of_a_recording_are_in_sql(tmp_path: Path) -> None:
    write_published(str(own(tmp_path)), tmp_path / "out")
    assert Bundle(tmp_path / "out").columns("select max(per_s) as most from published.mine")["most"][0] == 19
    assert judge(Bundle(tmp_path / "out").evidence()).verdict.headline == "19.0"


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ('["other.csv"]', "no file of at most 64 MiB"),
        ('["mine.csv", "/etc/shadow2"]', "no file of at most 64 MiB"),
    ],
)
def test_a_missing_table_is_refused(tmp_path: Path, tables: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_published(str(own(tmp_path, tables=tables)), tmp_path / "out")
    assert not (tmp_path / "out").exists()
