"""Settings files as users have them: groups, includes, lines of the lab; what is kept and what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from laboratory import Lab, small_study
from needs import needs

from steelyard.bundle.storage.study_files import changed_files, copy_files, kept_files
from steelyard.errors import InputError
from steelyard.study.load_study import catalogue, find_study, plan_study
from steelyard.study.overrides import adjusted
from steelyard.study.plan import differences
from steelyard.study.setting_names import names_of
from steelyard.study.settings_file import settings_of
from steelyard.workflow.prepare import PreparedStudy

MY_CNF = """
[client-server]
socket = /run/mysqld/mysqld.sock
[client]
password = "hunter2'
!includedir conf.d
[mysqldump]
quick
[mariadb-10.11]
innodb-io-capacity = 300   # later
[mariadb-11.4]
innodb_io_capacity = 900
"""
INCLUDED = """; Debian's
[mysqld]
datadir=/var/lib/mysql
skip-name-resolve
sql_mode=
optimizer_switch="mrr=on,mrr_cost_based=off"
ft_boolean_syntax = '+ -><()~*:""&|'
"""


def written(folder: Path, **files: str) -> Path:
    """Writes files, `NAME_conf` as NAME.conf."""
    for name, text in files.items():
        place = folder / name.replace("__", "/").replace("_", ".")
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    return folder


def test_includes_are_followed_in_the_order_of_the_server(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        a_conf="work_mem = 1MB\ninclude_dir 'parts'\nInclude = 'b.conf'\ninclude_if_exists 'c.conf'\n",
        b_conf="max_connections = 7\nport = 5433\n",
        parts__2_conf="work_mem = '3 MB'\n",
        parts__1_conf="work_mem = 2MB\n",
        parts__3_txt="work_mem = 9MB\n",
    )
    (folder / "parts" / "old.conf").mkdir()
    found = settings_of(folder / "a.conf", "postgres")
    assert found.settings == {"work_mem": "3 MB", "max_connections": "7"}
    assert [line.partition(" is left out")[0] for line in found.left_out] == [f"{folder / 'b.conf'}:2: port"]


def test_of_groups_those_of_the_server_and_its_version_count(tmp_path: Path) -> None:
    (tmp_path / "mariadbd").write_text("#!/bin/sh\necho mariadbd  Ver 10.11.14-MariaDB for Linux\n")
    (tmp_path / "mariadbd").chmod(0o755)
    folder = written(tmp_path, my_cnf=MY_CNF, conf_d="")
    (folder / "conf.d").unlink()
    (folder / "conf.d").mkdir()
    (folder / "conf.d" / "50-server.cnf").write_text(INCLUDED)
    found = settings_of(folder / "my.cnf", "mariadb", str(tmp_path))
    assert found.settings == {
        "skip_name_resolve": "on",
        "sql_mode": "",
        "optimizer_switch": "mrr=on,mrr_cost_based=off",
        "ft_boolean_syntax": '+ -><()~*:""&|',
        "innodb_io_capacity": "300",
    }
    assert sum("socket" in line or "datadir" in line for line in found.left_out) == 2
    (folder / "kept.cnf").write_text(found.text)
    again = settings_of(folder / "kept.cnf", "mariadb")
    assert (again.settings, again.text, again.left_out) == (found.settings, found.text, [])
    assert "hunter2" not in found.text


@pytest.mark.parametrize(
    ("text", "settings", "left_out"),
    [
        # MariaDB ignores what follows the bracket
        ("[mysqld] ; main\nsort_buffer_size=4M\n", {"sort_buffer_size": "4M"}, 0),
        ("[galera]\nmax_heap_table_size=32M\n", {"max_heap_table_size": "32M"}, 0),
        ("[mariadb-10]\nsort_buffer_size=4M\n[MYSQLD]\n[server-10.11]\n[client]\n", {}, 3),
        ('[mysqld]\nft_boolean_syntax="a\\sb\\d"\n', {"ft_boolean_syntax": "a b\\d"}, 0),
    ],
)
def test_groups_and_escapes_are_those_of_mariadb(
    tmp_path: Path, text: str, settings: dict[str, str], left_out: int
) -> None:
    (tmp_path / "mariadbd").write_text("#!/bin/sh\necho mariadbd  Ver 10.11.14-MariaDB for Linux\n")
    (tmp_path / "mariadbd").chmod(0o755)
    found = settings_of(written(tmp_path, a_cnf=text) / "a.cnf", "mariadb", str(tmp_path))
    assert found.settings == settings and len(found.left_out) == left_out
    again = settings_of(written(tmp_path, b_cnf=found.text) / "b.cnf", "mariadb")
    assert again.settings == settings


@pytest.mark.parametrize("text", ["sort_buffer_size=4M\n[mysqld]\n", "[client]\n[mysqld\na = 1\n"])
def test_a_line_that_mariadb_refuses_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"a\.cnf:[12]: "):
        settings_of(written(tmp_path, a_cnf=text) / "a.cnf", "mariadb")


def test_a_postgresql_conf_given_to_mariadb_is_refused_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.conf:2: no group begins before this line") as refused:
        settings_of(written(tmp_path, a_conf="# 15\nwork_mem = 4MB\n") / "a.conf", "mariadb")
    assert "a postgresql.conf is for the subject postgres" in refused.value.hint


NAMES = """\
[mysqld]
key_buffer=16M
skip-external-locking
skip-innodb-doublewrite
disable-performance-schema=0
enable-local-infile
loose-sort_buffer_size=4M
loose-foo-bar=4
loose-skip-grant-tables
innodb_buffer_pool_instances=4
skip-grant
gtid_mode=ON
"""


def test_names_of_options_are_those_that_mariadb_reads(tmp_path: Path) -> None:
    needs("MariaDB")
    found = settings_of(written(tmp_path, a_cnf=NAMES) / "a.cnf", "mariadb")
    assert found.settings == {
        "key_buffer_size": "16M",
        "external_locking": "off",
        "innodb_doublewrite": "off",
        "performance_schema": "on",
        "local_infile": "on",
        "sort_buffer_size": "4M",
        "gtid_mode": "ON",
    }
    assert found.places["key_buffer_size"] == f"{tmp_path / 'a.cnf'}:2"
    said = [line.removeprefix(f"{tmp_path / 'a.cnf'}:") for line in found.left_out]
    assert said == [
        "8: loose-foo-bar is left out: this server ignores it",
        "9: loose-skip-grant-tables is left out: Steelyard decides who may connect to its server",
        "10: innodb_buffer_pool_instances is left out: this server ignores it",
        "11: skip-grant is left out: Steelyard decides who may connect to its server",
    ]


def test_a_file_that_all_may_write_is_named_since_mariadb_ignores_it(tmp_path: Path) -> None:
    file = written(tmp_path, a_cnf="[mysqld]\nsort_buffer_size=4M\n") / "a.cnf"
    assert settings_of(file, "mariadb").left_out == []
    file.chmod(0o666)
    assert settings_of(file, "mariadb").left_out == [
        f"{file}: all may write it, so that MariaDB itself ignores it: chmod o-w"
    ]


def test_keepalives_are_taken_with_a_notice(tmp_path: Path) -> None:
    found = settings_of(written(tmp_path, a_conf="tcp_keepalives_idle = 60\n") / "a.conf", "postgres")
    assert found.settings == {"tcp_keepalives_idle": "60"}
    assert "a.conf:1: tcp_keepalives_idle has no effect on the Unix socket" in found.left_out[0]


def test_escapes_of_postgres_are_read_and_kept(tmp_path: Path) -> None:
    text = "log_line_prefix = 'it\\'s\\t\\101\\x'\ninclude_foo = '3'\nsearch_path = '\"$user\"'\n"
    expected = {"log_line_prefix": "it's\tAx", "include_foo": "3", "search_path": '"$user"'}
    found = settings_of(written(tmp_path, a_conf=text) / "a.conf", "postgres")
    assert found.settings == expected
    assert settings_of(written(tmp_path, b_conf=found.text) / "b.conf", "postgres").settings == expected


def test_the_files_of_the_distribution_are_read(tmp_path: Path) -> None:
    sample = next(Path("/usr/share/postgresql").glob("*/postgresql.conf.sample"), None)
    if sample:
        assert settings_of(sample, "postgres").settings == {}
    if (own := Path("/etc/mysql/my.cnf")).exists():
        found = settings_of(own, "mariadb")
        assert "bind_address" not in found.settings and any("bind-address" in line for line in found.left_out)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = ", "a.conf:1: not a setting"),
        ("include 'b.conf'", "b.conf:1: {folder}/a.conf is included twice"),
        ("include '/etc/hosts'", "a.conf:1: include names /etc/hosts, outside the folder"),
        ("\ninclude '../b.conf'", "a.conf:2: include names"),
        ("include_dir 'link'", "a.conf:1: include_dir names"),
        ("include 'missing.conf'", "a.conf:1: {folder}/missing.conf: no such file"),
        ("include_dir 'missing'", "a.conf:1: {folder}/missing: no such folder"),
        ("include 'link2'", "link2: cannot be read: it is a folder"),
        ("work_mem = 4MB\n\x7fELF\x00", "a.conf:2: not a setting"),
        ("\n[mysqld]\nsort_buffer_size = 4MB", "a.conf:2: an option file of MariaDB or MySQL"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_by_its_line(tmp_path: Path, text: str, said: str) -> None:
    folder = written(tmp_path, a_conf=text, b_conf="include 'a.conf'")
    (folder / "link").symlink_to("/etc")
    (folder / "link2").mkdir()
    with pytest.raises(InputError) as refused:
        settings_of(folder / "a.conf", "postgres")
    assert said.format(folder=folder) in str(refused.value)


def test_line_ends_and_a_byte_order_mark_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_bytes(b"\xef\xbb\xbfwork_mem = 8MB\r\nmax_connections = 50\r\n")
    assert settings_of(tmp_path / "a.conf", "postgres").settings == {
        "work_mem": "8MB",
        "max_connections": "50",
    }


def test_a_long_line_is_read_in_linear_time(tmp_path: Path) -> None:
    (tmp_path / "a.cnf").write_text("[mysqld]\nsql_mode = a" + " " * 900_000 + "b\n")
    assert len(settings_of(tmp_path / "a.cnf", "mariadb").settings["sql_mode"]) == 900_002


def files_study(folder: Path) -> Path:
    """A study of two settings files, with a setting beside one."""
    text = small_study(folder, subject="postgres", blocks=1).read_text()
    levels = 'levels = { A = { file = "a.conf" }, B = { file = "b.conf", work_mem = "16MB" } }'
    text = text.replace('scope = "client"', 'scope = "server"')
    lines = [levels if line.startswith("levels") else line for line in text.split("\n")]
    (folder / "small.toml").write_text("\n".join(lines))
    return folder / "small.toml"


def test_a_level_is_a_file_and_a_report_names_the_settings_that_differ(tmp_path: Path) -> None:
    shared = "max_connections = 50\nprimary_conninfo = 'password=hunter2'\n"
    folder = written(tmp_path, a_conf=shared + "work_mem = 4MB\n", b_conf=shared + "work_mem = 8MB\n")
    study = files_study(folder)
    prepared = PreparedStudy.of(study.read_text(), str(study))
    assert [option.server["work_mem"] for option in prepared.options] == ["4MB", "16MB"]
    assert all(option.server["max_connections"] == "50" for option in prepared.options)
    assert len(prepared.left_out) == 2
    (factor,) = prepared.study.factors.items()
    assert differences(*factor) == {"A": {"work_mem": "4MB"}, "B": {"work_mem": "16MB"}}


def test_an_error_about_a_setting_of_a_file_names_the_line_of_the_file(tmp_path: Path) -> None:
    folder = written(
        tmp_path, a_conf="work_mem = 4MB\n", b_conf="include 'c.conf'\n", c_conf="\n# mine\nx.token = 12345\n"
    )
    study = files_study(folder)
    with pytest.raises(InputError) as refused:
        PreparedStudy.of(study.read_text(), str(study))
    assert str(refused.value).startswith(f"{folder / 'c.conf'}:3: x.token: a password")


def test_switches_are_shown_as_the_server_shows_them(tmp_path: Path) -> None:
    text = (
        files_study(tmp_path)
        .read_text()
        .replace('file = "a.conf"', "fsync = true")
        .replace('file = "b.conf"', "fsync = false")
    )
    study, _ = plan_study(text, str(tmp_path / "small.toml"))
    (factor,) = study.factors.items()
    assert differences(*factor) == {"A": {"fsync": "on"}, "B": {"fsync": "off", "work_mem": "16MB"}}


def test_a_bundle_has_its_own_copies_without_what_is_left_out(tmp_path: Path) -> None:
    conninfo = "primary_conninfo = 'password=hunter2'\n"
    folder = written(tmp_path, a_conf="include 'c.conf'\n", c_conf=f"work_mem = 4MB\n{conninfo}", b_conf="")
    study = files_study(folder)
    prepared = PreparedStudy.of(study.read_text(), str(study))
    head = {"files": copy_files(tmp_path, prepared.files)}
    assert sorted(file.name for file in (tmp_path / "files").iterdir()) == ["1-a.conf", "2-b.conf"]
    assert "hunter2" not in "".join(file.read_text() for file in (tmp_path / "files").iterdir())
    for name in "abc":
        (folder / f"{name}.conf").unlink()
    kept = kept_files(tmp_path, head)
    again = PreparedStudy.of(prepared.text, str(study), kept)
    assert again.options == prepared.options and not changed_files(head, again.files)
    (tmp_path / "files" / "1-a.conf").write_text("work_mem = 5MB\n")
    with pytest.raises(InputError, match="was edited since the study began"):
        kept_files(tmp_path, head)


def test_files_that_set_the_same_are_refused_with_the_lines_that_are_left_out(lab: Lab) -> None:
    written(lab.folder, a_conf="work_mem = 4MB\n", b_conf="port = 5433\nwork_mem = 4MB\n")
    done = lab.run("run", "demo", "--settings", "a.conf", "--settings", "b.conf", "--dry-run")
    assert done.returncode == 2 and "the settings of all levels are the same" in done.stderr
    assert "b.conf:1: port is left out" in done.stderr


def test_files_of_one_name_are_numbered_and_the_studys_factors_are_said_to_be_replaced(lab: Lab) -> None:
    for name in ("old", "new"):
        written(lab.folder, **{f"{name}__postgresql_conf": f"# {name}\nwork_mem = {len(name)}MB\n"})
    (lab.folder / "new" / "postgresql.conf").write_text("work_mem = 8MB\nlisten_addresses = '*'\n")
    done = lab.run(
        "run", "demo", "--settings", "old/postgresql.conf", "--settings", "new/postgresql.conf", "--dry-run"
    )
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert "Which settings are best: old/postgresql.conf, new/postgresql.conf?" in said
    assert "options 2: 1, 2" in said and "in place of the factors handle" in said
    assert "new/postgresql.conf:2: listen_addresses is left out" in said


@pytest.mark.parametrize("file", ["missing.conf", "folder", "binary.conf"])
def test_a_file_that_is_none_ends_the_command_with_its_name(lab: Lab, file: str) -> None:
    written(lab.folder, a_conf="work_mem = 4MB\n")
    (lab.folder / "folder").mkdir()
    (lab.folder / "binary.conf").write_bytes(bytes(range(256)))
    done = lab.run("run", "demo", "--settings", "a.conf", "--settings", file, "--dry-run")
    assert done.returncode == 2 and file in done.stderr and "Traceback" not in done.stderr


def test_a_subject_without_settings_files_is_refused(lab: Lab) -> None:
    written(lab.folder, a_conf="work_mem = 4MB\n")
    done = lab.run("run", small_study(lab.folder, subject="sqlite"), "--settings", "a.conf", "--dry-run")
    assert done.returncode == 2 and "no settings files are read for the subject sqlite" in done.stderr


def test_the_lists_of_a_strange_subject_are_empty(tmp_path: Path) -> None:
    needs("PostgreSQL")
    for kind in ("../demo", "linux", "x" * 5000):
        text = f'name = "a"\nquestion = "?"\nsubject.kind = "{kind}"\n[factors.s]\nscope = "server"\n'
        plan_study(text + 'levels = { A = { file = "a" }, B = { file = "b" } }\n', str(tmp_path / "s.toml"))


WITH_FILES = [name for name in catalogue() if names_of(find_study(name)[0].subject.kind).file]


@pytest.mark.parametrize("name", WITH_FILES)
def test_a_built_in_study_takes_settings_in_place_of_its_factors(name: str, tmp_path: Path) -> None:
    file = tmp_path / "own.conf"
    mariadb = find_study(name)[0].subject.kind == "mariadb"
    needs("MariaDB" if mariadb else "PostgreSQL")
    file.write_text("[mysqld]\nmax_connections = 300\n" if mariadb else "work_mem = 8MB\n")
    chosen = adjusted(name, settings=[file])
    if name == "statement-leak":
        # its handles are its factor, and the default would prepare texts that are never seen again
        with pytest.raises(InputError, match="option as-is: handle `named` with unique texts"):
            PreparedStudy.of(chosen.text, chosen.origin)
        return
    prepared = PreparedStudy.of(chosen.text, chosen.origin)
    assert [option.label for option in prepared.options] == ["as-is", "own"]
