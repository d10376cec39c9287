"""Pictures with axes as a person reads them: what is written, and marks against the ticks."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Mark:
    """What stands under a title, across an axis: points, corners of its line, colour and shape."""

    title: str
    places: list[float]
    line: list[float]
    look: tuple[str, ...]


def titles(picture: str) -> list[str]:
    return [title.text or "" for title in ET.fromstring(picture).iter(f"{SVG}title")]


def texts(picture: str) -> list[str]:
    return [text.text or "" for text in ET.fromstring(picture).iter(f"{SVG}text")]


def marks(picture: str, place: int = 0) -> list[Mark]:
    """Return what has a title in the axes of a place, measured by the ticks below."""
    root = ET.fromstring(picture)
    groups = root.find(f"{SVG}g").findall(f"{SVG}g")
    axes = [group for group in groups if len(_ticks(group)) > 1][place]
    (low, at_low), *_, (high, at_high) = sorted(_ticks(axes).items())

    def read(places) -> list[float]:
        ends = [at_low, at_high], [low, high]
        slope = np.diff(ends[1]) / np.diff(ends[0])
        return [float(low + slope[0] * (float(place) - at_low)) for place in places]

    found = []
    shapes = {f"#{path.get('id')}": path.get("d") for path in root.iter(f"{SVG}path")}
    for group in axes.iter(f"{SVG}g"):
        title = group.findtext(f"{SVG}title")
        if title is not None:
            path = group.find(f"{SVG}path")
            corners = re.findall(r"[ML] (\S+) ", path.get("d"))
            used = list(group.iter(f"{SVG}use"))
            look = [shapes[use.get("{http://www.w3.org/1999/xlink}href")] for use in used]
            look += [use.get("style") for use in used]
            places = read(use.get("x") for use in used)
            found.append(Mark(title, places, read(corners), tuple(look)))
    return found


def _ticks(group: ET.Element) -> dict[float, float]:
    """Return where the numbers below an axis stand."""
    return {
        float(text.text.replace("−", "-")): float(text.get("x"))
        for text in group.iter(f"{SVG}text")
        if "text-anchor: middle" in text.get("style", "")
        and re.fullmatch(r"−?[\d.]+", text.text or "")
    }
