from pathlib import Path

import builders

from steelyard.report.images import write_images


def test_every_chart_becomes_svg_and_png(tmp_path: Path) -> None:
    written = write_images(tmp_path / "images", *builders.scaling())
    names = {path.stem for path in written}
    assert {"ratios-throughput_per_s", "timeline-tps", "timeline-cpu", "costs"} <= names
    assert {"scaling-server_cpu_us_per_txn", "latency-64", "statements-lookup"} <= names
    assert len(written) == 2 * len(names)
    for path in written:
        head = path.read_bytes()[:8]
        assert head.startswith(b"<svg") if path.suffix == ".svg" else head == b"\x89PNG\r\n\x1a\n"


def test_names_made_of_hostile_labels_stay_in_their_folder(tmp_path: Path) -> None:
    written = write_images(tmp_path / "images", *builders.hostile())
    assert {path.parent for path in written} == {tmp_path / "images"}
    assert len(written) == len(set(written))
