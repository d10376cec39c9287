"""Pictures: the same bytes, whatever the names and however many are drawn at a time."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor

import pytest

from pramana_core.pictures import plots, svg
from tests.shared.pictures.reading import marks, texts, titles

NAMES = ["<a> & \"b\" 'c'", "$x_1$", "a\x01b", "lone \ud800", "two\nlines", "x" * 99]


def drawn(salt: str = "a", title: str = "what & where") -> str:
    def draw(figure):
        axis = figure.subplots()
        plots.rows(axis, NAMES, NAMES)
        for row, name in enumerate(NAMES):
            plots.interval(axis, row, 0.5, (0.25, 0.75), name)

    return plots.svg(draw, plots.size_of(NAMES, NAMES), salt, title)


def test_names_are_text_whatever_they_are():
    picture = drawn()
    said = texts(picture)
    assert titles(picture)[0] == "what & where"
    for name in [NAMES[0], NAMES[1], "a\ufffdb", "lone \ufffd", "two lines", f"{'x' * 59}…"]:
        assert name in said
    # Under the pointer stands the whole name.
    assert [mark.title for mark in marks(picture)] == [svg.printable(name) for name in NAMES]


@pytest.mark.slow
def test_a_picture_is_the_same_bytes_and_its_ids_are_its_own():
    assert drawn() == drawn()
    ids = [
        {e.get("id") for e in ET.fromstring(picture).iter() if e.get("id")}
        for picture in (drawn("a"), drawn("b"))
    ]
    assert all(ids)
    assert not ids[0] & ids[1]


@pytest.mark.slow
def test_pictures_drawn_at_the_same_time_are_those_drawn_one_by_one():
    salts = [f"salt {k}" for k in range(8)]
    alone = [drawn(salt) for salt in salts]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(drawn, salts)) == alone


def test_no_picture_leaves_a_setting_behind():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    drawn()
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    "picture", [svg.Layout(120, 80, "t", [svg.Box(0, 0, 9, 9, "#123")]).svg(), drawn()]
)
def test_a_line_below_a_picture_has_room_and_changes_nothing_else(picture):
    words = "Learned from 4,526 records; whole record: gamma 19 & <more>."
    made = svg.captioned(picture, words)
    before, after = ET.fromstring(picture), ET.fromstring(made)
    assert [*texts(picture), words] == texts(made)
    *_, width, height = map(float, before.attrib["viewBox"].split())
    *_, wider, higher = map(float, after.attrib["viewBox"].split())
    line = after[-1]
    assert height < float(line.attrib["y"]) < higher
    assert float(line.attrib["x"]) + svg.breadth(words, int(line.attrib["font-size"])) <= wider
    for side, grown in (("width", wider / width), ("height", higher / height)):
        was, now = (root.attrib[side].removesuffix("pt") for root in (before, after))
        assert float(now) == pytest.approx(float(was) * grown, rel=1e-4)
