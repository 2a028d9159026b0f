"""Options of which a figure is 0, negative, rare or no whole count: what is said of them, in which terms."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from recorded_cases import written

from steelyard.cli.commands import cli
from steelyard.errors import InputError

Values = Mapping[str, Sequence[float | str]]
_METRIC = '{{ column = "v", metric = "{}", unit = "{}", better = "{}" }}'
HEAP = _METRIC.format("heap", "B", "lower")
RATE = _METRIC.format("throughput", "1/s", "higher")
BALANCE = _METRIC.format("balance", "EUR", "higher")


def recorded(folder: Path, values: Values, metric: str = HEAP, name: str = "r") -> Path:
    """A bundle of a table with one figure: by option its values, one per block of 10 s."""
    rows = [f"{o},{block},10,{v}" for o, of in values.items() for block, v in enumerate(of, 1) if v != ""]
    mapping = f'[[tables]]\nfile = "{name}.csv"\nblock = "block"\nseconds = "s"\nmetrics = [{metric}]\n'
    csv = "\n".join(["option,block,s,v", *rows]) + "\n"
    written(folder, {f"{name}.csv": csv, f"{name}.toml": f'baseline = "A"\n{mapping}'})
    place = folder / f"{name}.bundle"
    done = CliRunner().invoke(cli, ["import", str(folder / f"{name}.toml"), "-o", str(place)])
    assert done.exit_code == 0, done.output
    return place


def judged(place: Path) -> dict[str, Any]:
    done = CliRunner().invoke(cli, ["report", str(place), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["judgement"]


def around(mean: float, blocks: int = 6) -> list[float]:
    return [mean * (1 + 0.01 * (-1) ** block) for block in range(blocks)]


@pytest.mark.parametrize(
    ("heaps", "winner", "ratio_of_b"),
    [
        ({"A": around(300), "B": [0] * 6, "C": around(390)}, "B", 0),
        ({"A": [0] * 6, "B": around(300), "C": around(390)}, "A", None),
        ({"A": around(300), "B": [0] * 6}, "B", 0),
        ({"A": [0] * 6, "B": around(300)}, "A", None),
    ],
)
def test_an_option_at_0_takes_part(
    tmp_path: Path, heaps: Values, winner: str, ratio_of_b: float | None
) -> None:
    found = judged(recorded(tmp_path, heaps))
    assert (found["verdict"]["outcome"], found["verdict"]["winner"]) == ("winner", winner)
    assert [c["ratio"] for c in found["comparisons"] if c["option"] == "B"][:1] == (
        [] if ratio_of_b is None else [ratio_of_b]
    )


def test_what_is_above_0_has_no_multiple(tmp_path: Path) -> None:
    verdict = judged(recorded(tmp_path, {"A": [0] * 6, "B": around(100)}, RATE))["verdict"]
    assert verdict["headline"] == "B wins: throughput above 0, unlike A, the baseline."
    assert verdict["interval"].endswith(" times or more, 6 blocks.")
    verdict = judged(recorded(tmp_path / "x", {"A": [0] * 6, "B": around(100)}))["verdict"]
    assert verdict["headline"] == "A, the baseline, wins: heap above 0 under B."


@pytest.mark.parametrize("size", [390, 3.9e-6])
def test_two_options_at_0_are_equivalent_in_any_unit(tmp_path: Path, size: float) -> None:
    found = judged(recorded(tmp_path, {"A": [0] * 6, "B": [0] * 6, "C": around(size)}))
    assert found["verdict"]["winner"] is None and {*found["verdict"]["ties"]} == {"A", "B"}
    assert [c["outcome"] for c in found["comparisons"]] == ["equivalent"]


def test_the_leader_beside_a_baseline_at_0_is_the_fastest(tmp_path: Path) -> None:
    found = judged(recorded(tmp_path, {"A": [0] * 6, "B": around(995), "C": around(1030)}, RATE))
    assert found["verdict"]["winner"] == "C"
    once = judged(recorded(tmp_path / "x", {"A": [0], "B": [100], "C": [200]}, RATE))
    assert "C leads" in once["verdict"]["headline"]


def test_means_of_load_points_are_those_of_the_ratio(tmp_path: Path) -> None:
    points = {"A": [(1, 500), (8, 0)], "B": [(1, 400), (8, 1600)]}
    rows = [
        f"{option},{block},{n},{value or block % 2 * 90}"
        for option, of in points.items()
        for n, value in of
        for block in range(1, 7)
    ]
    mapping = f'[[tables]]\nfile = "p.csv"\nblock = "block"\nclients = "n"\nmetrics = [{RATE}]\n'
    csv = "\n".join(["option,block,n,v", *rows]) + "\n"
    written(tmp_path, {"p.csv": csv, "p.toml": f'baseline = "A"\n{mapping}'})
    place = tmp_path / "p.bundle"
    CliRunner().invoke(cli, ["import", str(tmp_path / "p.toml"), "-o", str(place)])
    found = judged(place)
    of_all = [e for e in found["estimates"] if e["metric"] == "throughput_per_s" and e["clients"] is None]
    levels = {e["option"]: e["value"] for e in of_all}
    (ratio,) = (
        c["ratio"] for c in found["comparisons"] if c["metric"] == "throughput_per_s" and c["clients"] is None
    )
    assert levels == pytest.approx({"A": (500 + 45) / 2, "B": 1000})
    assert ratio == pytest.approx(levels["B"] / levels["A"])
    assert {c["mean"] for c in found["comparisons"] if c["clients"] is None} == {"mean"}
    said = " ".join(
        [found["verdict"]["headline"], found["verdict"]["interval"], *found["verdict"]["reasons"]]
    )
    assert "mean over" in said and "geometric" not in said


def test_a_recording_has_no_planned_seconds(tmp_path: Path) -> None:
    place = recorded(tmp_path, {"A": around(100), "B": around(120)}, RATE)
    done = CliRunner().invoke(cli, ["report", str(place), "--json"])
    phases = json.loads(done.stdout)["about"]["phases"]
    assert phases["measure_s"] is phases["warm_up_s"] is phases["cool_down_s"] is None


def test_a_negative_option_leaves_the_others_their_ratio(tmp_path: Path) -> None:
    found = judged(recorded(tmp_path, {"A": around(10), "B": around(-4), "C": around(20)}, BALANCE))
    assert [(c["option"], c["outcome"]) for c in found["comparisons"]] == [("C", "better")]
    assert any(n["subject"] == "B" and "negative" in n["text"] for n in found["notices"])


def test_nothing_done_is_a_throughput_of_0_where_it_was_counted(tmp_path: Path) -> None:
    found = judged(recorded(tmp_path, {"A": around(100), "B": [0] * 6}, RATE))
    assert found["verdict"]["winner"] == "A"
    levels = {e["option"]: e["value"] for e in found["estimates"] if e["metric"] == "throughput_per_s"}
    assert levels["B"] == 0 and levels["A"] == pytest.approx(100)


def test_an_option_with_too_few_values_leaves_no_winner(tmp_path: Path) -> None:
    values = {"A": around(100), "B": around(120), "C": [150, 151, "", "", "", ""]}
    verdict = judged(recorded(tmp_path, values, RATE))["verdict"]
    assert verdict["outcome"] == "leaning" and verdict["winner"] is None
    assert "C could not be compared" in verdict["reasons"][0]


def test_negative_figures_are_shown_and_have_no_ratio(tmp_path: Path) -> None:
    place = recorded(tmp_path, {"A": around(-50), "B": [5, *around(-60, 5)]}, BALANCE)
    found = judged(place)
    assert found["verdict"]["outcome"] == "nothing to compare" and found["comparisons"] == []
    (a, _) = (e for e in found["estimates"] if e["metric"] == "score")
    assert a["low"] < a["value"] < a["high"] < 0
    assert "−50.0 [" in CliRunner().invoke(cli, ["report", str(place)]).stdout


def test_levels_and_ratios_are_of_one_kind_of_mean(tmp_path: Path) -> None:
    found = judged(recorded(tmp_path, {"A": [90, 110, 70, 130, 100, 100], "B": [0, *around(200, 5)]}))
    levels = {e["option"]: e["value"] for e in found["estimates"] if e["metric"] == "score"}
    (ratio,) = (c["ratio"] for c in found["comparisons"])
    assert levels["A"] == pytest.approx(100) and ratio == pytest.approx(levels["B"] / levels["A"])


def test_bundles_are_not_compared_where_a_run_is_0(tmp_path: Path) -> None:
    zeros = recorded(tmp_path, {"A": [0, *around(80, 5)], "B": around(160)}, name="zeros")
    whole = recorded(tmp_path, {"A": around(80), "B": around(160)}, name="whole")
    done = CliRunner().invoke(cli, ["compare", str(whole), str(zeros), "--force"])
    assert done.exit_code == 0, done.output
    assert "B: heap of zeros is 1.00" in done.stdout and "A: heap" not in done.stdout
    assert "not compared: heap of A is not above 0 in some runs" in " ".join(done.stdout.split())


def test_a_rate_that_gives_no_whole_count_keeps_its_digits(tmp_path: Path) -> None:
    values = {"A": [0.339, 0.342, 0.336, 0.340], "B": [0.442, 0.445, 0.439, 0.443]}
    found = judged(recorded(tmp_path, values, RATE))
    (ratio,) = (c["ratio"] for c in found["comparisons"] if c["metric"] == "throughput_per_s")
    assert ratio == pytest.approx(0.442 / 0.339, rel=5e-3)


def test_markdown_has_the_figures_of_a_recording_without_throughput(tmp_path: Path) -> None:
    place = recorded(tmp_path, {"A": around(300), "B": around(390)})
    text = CliRunner().invoke(cli, ["report", str(place), "--markdown"]).stdout
    assert "300 B" in text and "390 B" in text


def test_options_keep_their_letters_or_are_refused(tmp_path: Path) -> None:
    values = {"A": around(300), "Prüfung": around(390), "1–2": around(400), "12": around(410)}
    found = judged(recorded(tmp_path, values))
    assert {*found["options"]} == {"A", "Prufung", "1-2", "12"}
    rows = "option,block,v\nпривет,1,5\n"
    written(tmp_path, {"x.csv": rows, "x.toml": f'[[tables]]\nfile = "x.csv"\nmetrics = [{HEAP}]\n'})
    done = CliRunner().invoke(cli, ["import", str(tmp_path / "x.toml"), "-o", str(tmp_path / "x.bundle")])
    assert isinstance(done.exception, InputError) and "привет" in str(done.exception)


def test_a_noisy_option_takes_nothing_from_two_quiet_ones(tmp_path: Path) -> None:
    quiet = {"A": around(100), "B": [110.5, 109.6, 110.1, 109.2, 110.8, 109.9]}
    noisy = {**quiet, "C": [30, 700, 45, 900, 20, 400]}

    def interval(values: Values, name: str) -> tuple[float, float]:
        found = judged(recorded(tmp_path, values, RATE, name))
        (b,) = [
            c
            for c in found["comparisons"]
            if c["option"] == "B" and c["metric"] == "throughput_per_s" and c["clients"] is None
        ]
        return b["low"], b["high"]

    (low, high), (least, most) = interval(quiet, "two"), interval(noisy, "three")
    assert least > 1 and math.log(most / least) < 2 * math.log(high / low)


def test_a_recording_that_drifts_with_its_options_names_no_winner(tmp_path: Path) -> None:
    """The second option is the first one an hour later."""
    log = "".join
    texts = {
        f"{option}/{block}/pgbench_log.1": log(
            f"0 {n} 900 0 {1_772_445_600 + 3600 * at + n // (100 + 2 * at)} {n % 100}\n"
            for n in range(60 * (100 + 2 * at))
        )
        for option, first in (("A", 0), ("B", 6))
        for block, at in enumerate(range(first, first + 6), 1)
    }
    written(tmp_path, texts)
    place = tmp_path / "r.bundle"
    done = CliRunner().invoke(cli, ["import", str(tmp_path), "--by-folder", "-o", str(place)])
    assert done.exit_code == 0, done.output
    found = judged(place)["verdict"]
    assert (found["outcome"], found["winner"]) == ("leaning", None)


def test_compare_tells_what_only_one_bundle_measured(tmp_path: Path) -> None:
    values = {"A": around(80), "B": around(160)}
    whole, other = (recorded(tmp_path, values, RATE, name) for name in ("whole", "other"))
    dead = recorded(tmp_path, {"A": around(80), "B": [0] * 6}, RATE, "dead")

    def notices(there: Path) -> list[str]:
        done = CliRunner().invoke(cli, ["compare", str(whole), str(there), "--json"])
        assert done.exit_code == 0, done.output
        return [one["text"] for one in json.loads(done.stdout)[0]["notices"] if one["code"] == "not-compared"]

    assert notices(other) == []
    assert notices(dead) == ["not compared: throughput of B is not above 0 in some runs"]


def test_platforms_that_contradict_each_other_are_told(tmp_path: Path) -> None:
    faster = recorded(tmp_path, {"A": around(100), "B": around(120)}, RATE, "faster")
    slower = recorded(tmp_path, {"A": around(100), "B": around(80)}, RATE, "slower")
    done = CliRunner().invoke(cli, ["compare", str(faster), str(slower)])
    first = " ".join(done.stdout.split())
    assert "higher on 1 of 2 platforms, proven on 1, proven lower on 1" in first
