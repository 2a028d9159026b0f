"""The page in a browser: zooming, searching, the theme. Left out where there is no Chromium."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import builders
import pytest

from steelyard.analysis.judgement.latches import ProfileRow
from steelyard.report.page.html import render
from steelyard.report.presented import Presented

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.needs("Chromium")

# what every act uses: the picture of a chart, its signals, and a pointer over it
_HELPERS = """
const out = {}, sleep = (ms) => new Promise((resume) => setTimeout(resume, ms));
const box = (name) => document.querySelector(`[data-chart="${name}"]`);
const plot = (name) => box(name).querySelector(".role-frame.root .background").getBoundingClientRect();
const texts = (name, kind) =>
  [...box(name).querySelectorAll(`${kind} text`)].map((one) => one.textContent).sort();
const point = (name, kind, part) => {
  const { left, width, top } = plot(name);
  const at = { clientX: left + part * width, clientY: top + 5, bubbles: true };
  box(name).dispatchEvent(new PointerEvent(kind, at));
};
const drag = (name, from, to) => {
  Element.prototype.setPointerCapture = () => {}; // of pointers that are real
  point(name, "pointerdown", from); point(name, "pointermove", to); point(name, "pointerup", to);
};
const drawn = async () => {
  const waiting = (one) => one.clientWidth && !one.querySelector("svg");
  while ([...document.querySelectorAll(".chart")].some(waiting)) await sleep(50);
  await sleep(50);
};
"""


def acted(page: str, act: str, folder: Path, *flags: str) -> dict[str, Any]:
    """What the act leaves in `out`, having run in the page once all charts are drawn."""
    script = (
        f"<script>{_HELPERS}(async () => {{ try {{ await drawn(); {act} }} catch (error) {{"
        " out.error = `${error}`; }"
        " document.documentElement.dataset.out = JSON.stringify(out); })();</script>"
    )
    end = page.rindex("</body>")
    place = folder / "page.html"
    place.write_text(page[:end] + script + page[end:], encoding="utf-8")
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'browser'}",
        "--window-size=1400,1200", "--virtual-time-budget=30000", *flags, "--dump-dom", place.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=os.environ)
    found = re.search(r'data-out="([^"]*)"', done.stdout)
    assert found, done.stderr[-2000:]
    out = json.loads(unescape(found[1]))
    assert "error" not in out, out
    return out


def test_dragging_zooms_all_time_charts_of_the_figure_and_a_double_click_resets(tmp_path: Path) -> None:
    page = render(Presented(*builders.two()))
    act = """
    const times = (name) => texts(name, ".role-axis-label").filter((text) => text.includes(":"));
    const both = () => [times("timeline-tps"), times("timeline-cpu")];
    out.before = both();
    drag("timeline-tps", 0.25, 0.5);
    await sleep(200);
    out.zoomed = both();
    out.button = !document.querySelector("#timeline .tools button").hidden;
    point("timeline-tps", "dblclick", 0.5);
    await sleep(200);
    out.after = both();
    drag("timeline-cpu", 0.5, 0.501);
    await sleep(200);
    out.clicked = both();
    """
    out = acted(page, act, tmp_path)
    first = [labels[0] for labels in out["zoomed"]]
    assert out["button"]
    assert first[0] == first[1] != "0:00" == out["before"][0][0]
    assert out["after"] == out["before"] == out["clicked"]


def test_a_flame_graph_is_zoomed_by_a_click_and_searched(tmp_path: Path) -> None:
    act = """
    const name = document.querySelector('#profile .chart').dataset.chart;
    const frames = () => [...box(name).querySelectorAll(".mark-rect path")];
    const named = () => texts(name, ".mark-text.role-mark");
    const tools = box(name).parentElement.querySelector(".tools");
    out.before = named();
    tools.querySelector("input").value = "PARSE";
    tools.querySelector("input").dispatchEvent(new Event("input"));
    await sleep(200);
    out.share = tools.querySelector("output").textContent;
    out.found = frames().filter((frame) => frame.getAttribute("fill") === "#E58CD9").length;
    const width = (frame) => frame.getBoundingClientRect().width;
    const rare = frames().sort((a, b) => width(a) - width(b))[0];
    const { left, top } = rare.getBoundingClientRect();
    for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) {
      const type = kind.startsWith("pointer") ? PointerEvent : MouseEvent;
      rare.dispatchEvent(new type(kind, { clientX: left + 1, clientY: top + 2, bubbles: true }));
    }
    await sleep(200);
    out.zoomed = named();
    tools.querySelector("button").click();
    await sleep(200);
    out.after = named();
    """
    out = acted(profiled(), act, tmp_path)
    assert out["share"] == "30.0\u00a0% matched"
    assert out["found"] == 2
    assert not any("rare" in text for text in out["before"])
    assert any("rare" in text for text in out["zoomed"])
    assert out["after"] == out["before"]


def profiled() -> str:
    """A page with a flame graph: `parse` within `parse_tree` is 30 % of it, `rare` 1 %."""
    judgement, series, about = builders.two()
    option = judgement.baseline
    stacks = (("main;exec;run", 69.0), ("main;parse_tree;parse", 30.0), ("main;exec;rare", 1.0))
    rows = [
        {"option": option, "role": "server", "stack": f"thread;{stack}", "us_per_txn": us}
        for stack, us in stacks
    ]
    row = ProfileRow(option, "server", "parse", False, samples=30, share=0.3, us_per_txn=30.0)
    return render(Presented(replace(judgement, profile=(row,)), replace(series, stacks=rows), about))


def test_the_theme_is_switched_and_remembered_for_the_page(tmp_path: Path) -> None:
    page = render(Presented(*builders.two()))
    look = """
    const look = () => ({
      ground: getComputedStyle(document.body).backgroundColor,
      text: document.querySelector("#timeline .role-axis-label text").getAttribute("fill"),
      choice: document.getElementById("theme").value,
    });
    out.first = look();
    """
    choose = """
    const select = document.getElementById("theme");
    select.value = "dark";
    select.dispatchEvent(new Event("change"));
    await sleep(3000);
    out.second = look();
    """
    out = acted(page, look + choose, tmp_path)
    light = {"ground": "rgb(255, 255, 255)", "text": "#626B76", "choice": "auto"}
    dark = {"ground": "rgb(20, 23, 27)", "text": "#9BA3AE", "choice": "dark"}
    assert out == {"first": light, "second": dark}
    assert acted(page, look, tmp_path)["first"] == dark


def test_points_of_a_chart_say_what_they_are(tmp_path: Path) -> None:
    act = """
    const dot = box("timeline-tps").querySelector(".mark-symbol path");
    const { left, top, width, height } = dot.getBoundingClientRect();
    const over = { clientX: left + width / 2, clientY: top + height / 2, bubbles: true };
    for (const kind of ["pointermove", "mousemove", "pointerover", "mouseover"]) {
      dot.dispatchEvent(new PointerEvent(kind, over));
    }
    await sleep(200);
    out.tip = document.getElementById("vg-tooltip-element")?.innerText;
    """
    out = acted(render(Presented(*builders.two())), act, tmp_path)
    assert "option" in out["tip"] and "per second" in out["tip"]
