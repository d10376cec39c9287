"""Reports and their three renderers: what one shows, the others hold."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser

import pytest
from rich.cells import cell_len
from rich.console import Console

from pramana_core.privacy import NOTHING, Amplification
from pramana_core.report.numbers import belief, bound, count, measured, number, percent
from pramana_core.report.page import html
from pramana_core.report.report import Column, Fact, Picture, Report, Section, Sentence, Table
from pramana_core.report.terminal import MOST_LINES, print_report

ODD = ("<script>alert(1)</script>", "$x_{$", "患者 & co", "[bold]not markup[/]", "a\ud800b")


class Page(HTMLParser):
    """The cells of each row, the tags, and everything that could load something."""

    def __init__(self, text: str):
        super().__init__()
        self.rows: list[list[str]] = []
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name in {"src", "href", "xlink:href", "srcset", "data", "action", "poster"}:
                self.loads.append(value)
            self.loads += re.findall(r"url\(([^)]*)\)", value or "")
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.inside = ""
        if tag == "span" and self.inside is not None:
            self.inside += "\n"

    def handle_data(self, data):
        if self.inside is not None:
            self.inside += data

    def handle_endtag(self, tag):
        if tag in {"td", "th"}:
            self.rows[-1].append(self.inside)
            self.inside = None


def table(rows, **more) -> Table:
    columns = (
        Column("name", lambda row: row["name"], number=False),
        Column("value\nwritten", lambda row: bound(row["value"]), high=lambda row: row["high"]),
        Column("in full", lambda row: f"{row['name']}\nsmall", brief=False),
    )
    return Table(columns, rows, **more)


def row(name: str, value: float, high: bool = False) -> dict:
    return {"name": name, "value": value, "high": high}


ROWS = [row(name, place, high=place > 1) for place, name in enumerate(ODD)]
REPORTS = {
    "empty": Report("nothing", []),
    "sentences": Report(
        "words",
        [
            Section(name, [Sentence(f"{kind} {name}", kind) for kind in (
                "private", "plain", "point", "point", "note", "warning", "grave", "alarm",
            )], minor=True)
            for name in ODD
        ],
    ),
    "table": Report("rows", [Section("t", table=table(ROWS), facts=[Fact("± 3", ODD[0], True)])]),
    "folded": Report(
        "more",
        [Section(text=ODD[2], folded="all", notes=["typed `a < b`"]), Section(table=table([]))],
        {"n": 3, "rows": ROWS[:2]},
        foot="the end",
    ),
    "picture": Report(
        "drawn", [Section(pictures=[Picture("about", lambda: "<svg><path id='p'/></svg>")])]
    ),
}  # fmt: skip


def printed(report: Report, width: int = 80) -> tuple[str, str]:
    out, loud = io.StringIO(), io.StringIO()
    print_report(report, Console(file=out, width=width), Console(file=loud, width=width))
    return out.getvalue(), loud.getvalue()


def plain(words: str) -> str:
    return words.replace("\ud800", "\ufffd")


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_every_renderer_shows_all_that_is_brief_and_the_page_shows_everything(report):
    text, loud = printed(report)
    page = Page(html(report, "<i>clinic</i>"))
    assert not {"script", "i", "link", "img", "iframe", "object", "base"} & set(page.tags)
    assert not page.loads
    assert json.loads(json.dumps(report.as_dict())).keys() >= {"alarms", "warnings"}
    for section in report.sections:
        assert plain(section.title) in plain(text)
        for one in section.said:
            assert one.words in (loud if one.kind == "alarm" else text)
            if one.kind in ("warning", "grave"):
                assert one.words in report.as_dict()["warnings"]
        if section.table is not None:
            cells = [[c.write(r) for c in section.table.columns] for r in section.table.rows]
            assert page.rows[1:] == [[plain(cell) for cell in line] for line in cells]
            brief = [c for c in section.table.columns if c.brief]
            assert all(c.write(r) in text for c in brief for r in section.table.rows)
        for fact in section.facts:
            assert fact.figure in text
            assert fact.figure in html(report, "o")
        assert bool(section.pictures) == ("svg" in page.tags)
    assert {**report.as_dict(), **report.numbers} == report.as_dict()


def test_what_is_not_brief_is_on_the_page_alone():
    quiet = table(ROWS, brief=lambda one: one["high"])
    hidden = Section("hidden", ["secret"], brief=False)
    said = Section("shown", [Sentence("aside", brief=False)], quiet, text="l\n" * 99)
    report = Report("r", [hidden, said])
    text, _ = printed(report)
    page = html(report, "o")
    assert not any(words in text for words in ("secret", "aside", ODD[1], "in full"))
    assert all(words in page for words in ("secret", "aside", ODD[1], "in full"))
    assert text.count("  l\n") == MOST_LINES


def test_the_largest_belief_is_rounded_up():
    assert belief(Amplification.of_gamma(19.0), 0.05) == "50 %"
    assert belief(Amplification.of_gamma(19.03), 0.05) == "50.04 %"
    assert belief(NOTHING, 0.05) == "5 %"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_tables_are_never_wider_than_the_terminal_and_cut_no_number(width):
    rows = [row("a_very_long_name_" * 6, 123456.0), row("患者" * 40, float("inf"))]
    text, _ = printed(Report("r", [Section(table=table(rows))]), width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "1.235e+05" in text
    assert "∞" in text


@pytest.mark.parametrize(
    ("write", "value", "written"),
    [
        (percent, None, "–"), (percent, 0.05678, "5.68 %"), (percent, 1.0, "100 %"),
        (percent, 0.99999, "100 %"), (percent, 0.0, "0 %"), (bound, None, "∞"),
        (bound, float("inf"), "∞"), (bound, 2.01490, "2.015"), (number, float("nan"), "–"),
        (number, 1e-12, "0"), (number, 0.12345, "0.1235"), (count, None, "–"),
        (count, 12345.0, "12,345"), (count, 3e20, "about 10^20"),
    ],
)  # fmt: skip
def test_numbers_are_written_in_few_digits(write, value, written):
    assert write(value) == written


def test_a_measure_is_written_to_the_second_digit_of_its_error():
    assert measured(0.123456, 0.0123) == "0.123 ± 0.012"
    assert measured(52.04, 7.7) == "52.0 ± 7.7"
    assert measured(0.5, None) == measured(0.5, 0.0) == "0.5"


def test_only_a_proof_is_written_as_certainty():
    for epsilon in (12.2, 50.0):
        assert belief(Amplification(epsilon), 0.05) == ">99.99 %"
    assert belief(Amplification(float("inf")), 0.05) == "100 %"
