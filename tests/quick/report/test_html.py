import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import builders
import pytest

from steelyard.analysis.judgement import Headlines
from steelyard.bundle.series.read import Series
from steelyard.bundle.storage.files import write_whole
from steelyard.report.page.html import render
from steelyard.report.presented import Presented

CASES = ["two", "scaling", "matrix", "hostile"]


class _Page(HTMLParser):
    """What a browser would see: elements, addresses, the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self._script = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._script = tag == "script"
        if self._script:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[-1] += data
        else:
            self.words.append(data)

    @property
    def charts(self) -> str:
        """The specifications, as JSON."""
        kinds = [attrs.get("type") for attrs in self.of("script")]
        return self.scripts[kinds.index("application/json")]

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture(scope="module", params=CASES)
def page(request: pytest.FixtureRequest) -> _Page:
    return _Page(render(Presented(*getattr(builders, request.param)())))


def test_nothing_is_loaded_from_elsewhere(page: _Page) -> None:
    for _, attrs in page.elements:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            address = attrs.get(name) or ""
            assert address == "" or address.startswith(("data:image/svg+xml;base64,", "#"))
    assert not page.of("link")
    assert not page.of("iframe")
    policy = page.of("meta")[4]
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert str(policy["content"]).startswith("default-src 'none'")


def test_four_scripts_and_no_more(page: _Page) -> None:
    """The theme before anything is painted, the charts, what draws them, what moves them."""
    assert [attrs.get("type") for attrs in page.of("script")] == [None, "application/json", None, None]


def test_every_figure_can_be_linked_to(page: _Page) -> None:
    ids = [str(attrs["id"]) for _, attrs in page.elements if attrs.get("id")]
    assert len(ids) == len(set(ids))
    links = [str(attrs["href"]) for attrs in page.of("a") if attrs.get("class") == "anchor"]
    figures = [str(attrs["id"]) for attrs in page.of("figure")]
    assert {f"#{name}" for name in (*figures, "options", "method")} == set(links)


def test_a_list_of_contents_leads_to_every_part(page: _Page) -> None:
    names = [str(attrs["id"]) for attrs in (*page.of("figure"), *page.of("section")) if attrs.get("id")]
    contents = [str(attrs["href"]) for attrs in page.of("a") if set(attrs) == {"href"}]
    assert {f"#{name}" for name in names} == {href for href in contents if not href.startswith("#notice")}
    # and every part can be closed
    parts = [attrs for attrs in page.of("details") if attrs.get("class") == "part"]
    assert len(parts) == len(names)
    assert all("open" in attrs for attrs in parts)


def test_of_many_options_eight_are_open_the_baseline_among_them() -> None:
    text = render(Presented(*builders.matrix()))
    options = text[text.index('<section id="options">') : text.index("<ol")]
    shown, more = options.split('<details class="more">')
    assert shown.count('<th scope="row">') == 8
    assert '<tr class="baseline">' in shown and '<tr class="winner">' in shown
    assert more.count('<th scope="row">') == len(builders.matrix()[0].options) - 8
    assert "45 more options" in more


def test_the_head_of_the_page_is_three_lines() -> None:
    case = builders.two()
    text = render(Presented(*case))
    lines = case[0].verdict.lines
    assert len(lines) == 3
    assert text.count('<p class="further">') == 2


def test_the_date_is_written_as_people_write_it(page: _Page) -> None:
    assert [attrs["datetime"] for attrs in page.of("time")] == ["2026-03-14T09:26:53Z"]
    assert "14 Mar 2026, 09:26 UTC" in page.words


def test_no_line_breaks_between_a_number_and_its_unit(page: _Page) -> None:
    text = "".join(page.words)
    assert "95\u00a0%" in text
    broken = [f"{number} {unit}" for number in "0123456789" for unit in ("%", "µs ", "ms ", "s ")]
    assert not [pair for pair in broken if pair in text]


def test_what_is_copied_from_the_page_has_plain_spaces() -> None:
    judgement, series, about = builders.two()
    command = 'steelyard sql "after 8 s.bundle" "select * from runs"'
    page = _Page(render(Presented(judgement, series, replace(about, page_command=command))))
    assert command in page.words


def test_every_chart_has_its_specification_its_still_and_a_table(page: _Page) -> None:
    data = json.loads(page.charts)
    charts = [attrs["data-chart"] for _, attrs in page.elements if "data-chart" in attrs]
    assert charts
    assert sorted(map(str, charts)) == sorted(data["specs"])
    assert len(charts) == len(set(charts))
    stills = [attrs for attrs in page.of("img") if attrs.get("class") == "still"]
    assert len(stills) == len(charts)
    for still in stills:
        assert base64.b64decode(str(still["src"]).split(",")[1]).startswith(b"<svg")
    tables = [attrs for attrs in page.of("details") if attrs.get("class") == "numbers"]
    assert len(tables) == len(page.of("figure")) + 1  # and the server's settings


def test_hostile_text_stays_text() -> None:
    judgement, series, about = builders.hostile()
    page = _Page(render(Presented(judgement, series, about)))
    assert judgement.question in "".join(page.words)
    assert "".join(page.words).count(judgement.options[0]) > 3
    assert not [attrs for _, attrs in page.elements if "onerror" in attrs or "onclick" in attrs]
    assert not page.of("b")
    assert "49" not in page.words
    specs = page.charts
    assert "<" not in specs
    assert "&" not in specs
    assert judgement.options[0] in json.dumps(json.loads(specs))


def test_labels_never_become_expressions() -> None:
    """Vega evaluates expr, test, labelExpr, signal: none may hold text from outside."""

    def walk(part: object) -> list[str]:
        if isinstance(part, list):
            return [text for item in part for text in walk(item)]
        if not isinstance(part, dict):
            return []
        here = [str(v) for k, v in part.items() if k in ("expr", "test", "labelExpr", "signal", "calculate")]
        return here + [text for k, v in part.items() if k != "values" for text in walk(v)]

    page = _Page(render(Presented(*builders.hostile())))
    expressions = walk(json.loads(page.charts)["specs"])
    assert expressions
    assert not [text for text in expressions if "script" in text or "onerror" in text]


def test_verdict_comes_first() -> None:
    judgement, series, about = builders.two()
    text = render(Presented(judgement, series, about))
    body = text[text.index("<main>") :]
    order = ["<h1>", 'id="ratios"', 'id="options"', 'id="timeline"', 'id="method"']
    places = [body.index(mark) for mark in order]
    assert places == sorted(places)


def test_every_factor_colours_alike_in_every_chart() -> None:
    page = _Page(render(Presented(*builders.matrix())))
    domains = re.findall(r'"domain":(\["S157T_DYN0","S157T_DYN1","S157P_DYN1"\])', page.charts)
    assert len(domains) > 10


def test_a_report_of_almost_nothing_can_be_written(tmp_path: Path) -> None:
    judgement, _, about = builders.two()
    bare = replace(
        judgement,
        estimates=(),
        comparisons=(),
        effects=(),
        fairness=(),
        costs=(),
        notices=(),
        metrics=(),
        headlines=Headlines(),
    )
    path = write_whole(tmp_path / "report.html", render(Presented(bare, Series(), about)))
    page = _Page(path.read_text(encoding="utf-8"))
    assert not page.of("figure")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_an_interval_without_an_end_is_drawn(tmp_path: Path) -> None:
    judgement, series, about = builders.two()
    endless = tuple(
        replace(item, low=0.0, high=float("inf"), p_value=float("nan"), blocks=1)
        for item in judgement.comparisons
    )
    assert "no interval" in render(Presented(replace(judgement, comparisons=endless), series, about))
