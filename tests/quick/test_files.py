"""Files that are written beside others: whole or not at all, in their folder, through nobody's link."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_rows import head, phases

from declared import METRICS
from steelyard.bundle.export import FORMATS, export, export_stacks
from steelyard.bundle.reader import Bundle
from steelyard.bundle.storage.files import file_names, replacing, write_whole
from steelyard.bundle.writer import BundleWriter
from steelyard.errors import InputError
from steelyard.study.load_study import find_study
from steelyard.study.study import Option
from steelyard.study.workloads.statements import StatementWorkload

HOSTILE = (
    "../../x",
    "..",
    ".",
    "",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "A",
    "a",
    "é",
    "x" * 300,
    "\x00",
    "\x1b[2J",
)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@given(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=20), unique=True))
def test_a_name_made_of_any_text_is_one_component_and_none_is_there_twice(texts: list[str]) -> None:
    found = file_names(texts)
    assert list(found) == texts
    assert len({name.lower() for name in found.values()}) == len(texts)
    for name in found.values():
        assert Path("/folder", name).parent == Path("/folder") and Path(name).name == name
        assert name.isascii() and name.isprintable() and len(name) < 120 and name[0] not in ".-"


def test_a_label_of_a_study_is_its_own_name_of_a_file() -> None:
    assert file_names(["HDL1_TXT0_STC2", "a+b.c-d"]) == {
        "HDL1_TXT0_STC2": "HDL1_TXT0_STC2",
        "a+b.c-d": "a+b.c-d",
    }


def hostile_bundle(folder: Path) -> Bundle:
    """Options whose labels lead elsewhere, each with a profile."""
    labels = [label for label in HOSTILE if "\0" not in label]
    text = find_study("aa")[1]
    found = [Option(label, {"same": "A"}, StatementWorkload()) for label in labels]
    writer = BundleWriter.create(folder / "b", text, found, labels[0], METRICS)
    for number, label in enumerate(labels, start=1):
        profile = {"point": [0], "role": ["server"], "stack": ["main"], "samples": [number]}
        writer.write_run(
            number, {"same": "A"}, {"runs": head(label, 1), "phases": phases(), "profile": profile}
        )
    return Bundle(writer.path)


def test_a_stranger_s_link_is_replaced_not_followed(tmp_path: Path) -> None:
    bundle = hostile_bundle(tmp_path)
    theirs, out = tmp_path / "theirs", tmp_path / "out"
    theirs.write_text("precious")
    out.mkdir()
    for name in ("runs.csv", "A.folded", "page.html"):
        (out / name).symlink_to(theirs)
    list(export(bundle, out, "csv", ["runs"]))
    list(export_stacks(bundle, out, "folded"))
    write_whole(out / "page.html", "page")
    assert theirs.read_text() == "precious"
    assert not any((out / name).is_symlink() for name in ("runs.csv", "A.folded", "page.html"))


def test_a_stranger_cannot_guess_the_name_of_the_draft(tmp_path: Path) -> None:
    # the names that were written to before
    theirs = tmp_path / "theirs"
    for name in (".page.html.part", f".page.html.{os.getpid()}", "page.html.part"):
        (tmp_path / name).symlink_to(theirs)
    drafts: list[str] = []
    for _ in range(3):
        with replacing(tmp_path / "page.html") as draft:
            drafts.append(draft.name)
            assert stat.S_ISREG(draft.lstat().st_mode)
    assert len(set(drafts)) == 3
    assert not theirs.exists()


def test_a_file_is_written_with_the_rights_that_the_user_gives(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "page.html", "page")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o640


def test_nothing_is_left_when_writing_fails(tmp_path: Path) -> None:
    write_whole(tmp_path / "page.html", "old")
    with pytest.raises(OSError, match="No space"), replacing(tmp_path / "page.html") as draft:
        draft.write_text("new")
        raise OSError(28, "No space left on device")
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "page.html"):
        raise KeyboardInterrupt
    assert names(tmp_path) == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "old"


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        with pytest.raises(OSError, match="not a file"):
            write_whole(place, "page")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("kind", FORMATS)
def test_profiles_of_options_with_hostile_labels_stay_in_their_folder(tmp_path: Path, kind: str) -> None:
    bundle = hostile_bundle(tmp_path)
    out = tmp_path / "deep" / "er" / "out"
    places = list(export_stacks(bundle, out, kind))
    assert len(places) == len(bundle.head["options"]) == len(names(out))
    assert {place.parent for place in places} == {out}
    assert names(tmp_path) == ["b", "deep"]


def test_an_export_to_a_place_that_is_a_folder_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "out" / "runs.csv").mkdir(parents=True)
    with pytest.raises(InputError, match=r"runs\.csv: cannot be written"):
        list(export(hostile_bundle(tmp_path), tmp_path / "out", "csv", ["runs"]))
    assert names(tmp_path / "out") == ["runs.csv"]
