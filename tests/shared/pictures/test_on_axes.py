"""Our own layouts on matplotlib axes: all that is in them, in its place, and to scale."""

from __future__ import annotations

import io
import itertools

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from pramana_core.learn.networks.drawing import draw_structure
from pramana_core.learn.networks.structure import Structure
from pramana_core.pictures.plots import Chart
from pramana_core.pictures.svg import Group, Layout, Line

LONG = "a name of very many letters <&> $x_1$"


def network() -> Layout:
    """Twenty nodes and more, links that skip layers, confidences and groups."""
    parents = {f"v{k}": tuple(f"v{j}" for j in {k // 2, k - 1} if j != k) for k in range(1, 22)}
    parents |= {"v0": (), LONG: ("v0", "v21")}
    structure = Structure.of(parents)
    sure = {link: k / len(structure.links) for k, link in enumerate(structure.links)}
    return draw_structure(structure, {node: node[-1] for node in structure.nodes}, sure)


def axes_of(picture: Layout, size: tuple[float, float] = (6, 4)):
    return picture.on(Figure(figsize=size).subplots())


def drawn(axis, form: str = "png", **how) -> bytes:
    buffer = io.BytesIO()
    axis.figure.savefig(buffer, format=form, **how)
    return buffer.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(12, 5), (3, 3), (1, 6)])
def test_nothing_stands_outside_whatever_the_size(size: tuple[float, float]):
    axis = axes_of(network(), size)
    drawn(axis)
    frame = axis.get_window_extent()
    for artist in [*axis.texts, *axis.patches]:
        box = artist.get_window_extent()
        assert frame.x0 <= box.x0 + 1, artist
        assert box.x1 <= frame.x1 + 1, artist
        assert frame.y0 <= box.y0 + 1, artist
        assert box.y1 <= frame.y1 + 1, artist


@pytest.mark.slow
def test_letters_and_lines_are_in_proportion_to_the_picture():
    sizes = []
    for width in (4, 8):
        axis = axes_of(network(), (width, width))
        drawn(axis, dpi=50)
        (x0, _), (x1, _) = axis.transData.transform([(0, 0), (1, 0)])
        unit = (x1 - x0) * 72 / axis.figure.dpi
        sizes.append([axis.texts[0].get_fontsize(), axis.patches[0].get_linewidth()])
        assert axis.texts[-1].get_fontsize() <= 13 * unit * (1 + 1e-9)
    np.testing.assert_allclose(sizes[1], 2 * np.array(sizes[0]), rtol=1e-9)


def test_an_arrow_ends_where_its_path_does_and_points_on():
    arrow = Line((20, 10), [((20, 50),)], 1, "#555", tip=True)
    picture = Layout(100, 100, "t", [Group([arrow], place=(10, 0))], tips=True)
    assert 'd="M20.0,10.0 L20.0,50.0"' in picture.svg()
    line, tip = axes_of(picture).patches
    assert line.get_path().vertices.tolist() == [[30, 10], [30, 50]]
    corners = np.round(tip.get_path().vertices[:3], 9).tolist()
    assert corners == [[35, 46], [30, 56], [25, 46]]


@pytest.mark.slow
def test_a_layout_keeps_to_the_axes_it_is_given():
    figure = Figure(figsize=(8, 8), layout="constrained")
    axes = figure.subplots(2, 2)
    axis = axes[0, 1]
    assert network().on(axis) is axis
    drawn(axis)
    assert axis.get_window_extent().x0 > axes[0, 0].get_window_extent().x1
    assert figure.axes == list(axes.ravel())


def chart(parts: int = 1) -> Chart:
    def draw(axes):
        for axis in axes:
            axis.plot([1, 2], label="a")
            axis.set_title("one: two")

    return Chart("t", "salt", (4, 3), draw, "heading", parts, legend=True)


@pytest.mark.slow
def test_parts_of_a_chart_stand_inside_given_axes():
    figure = Figure(figsize=(8, 8), layout="constrained")
    axes = figure.subplots(1, 2)
    assert chart(3).on(axes[0]) is axes[0]
    drawn(axes[0])
    inside = axes[0].child_axes
    assert [len(part.lines) for part in inside] == [1, 1, 1]
    outer = axes[0].get_window_extent()
    boxes = [part.get_window_extent() for part in inside]
    assert all(outer.y0 - 1 <= box.y0 and box.y1 <= outer.y1 + 1 for box in boxes)
    assert [above.y0 > below.y1 for above, below in itertools.pairwise(boxes)] == [
        True,
        True,
    ]


def test_a_chart_leaves_no_setting_behind_and_needs_no_pyplot(monkeypatch: pytest.MonkeyPatch):
    from matplotlib import pyplot as plt

    monkeypatch.setattr(plt, "subplots", None)
    before = dict(mpl.rcParams)
    axis = Figure().subplots()
    chart().on(axis)
    assert dict(mpl.rcParams) == before
    assert axis.get_title(loc="left") == "one:\ntwo"
