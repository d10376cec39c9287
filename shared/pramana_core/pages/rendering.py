"""How a page is made of a template: everything escaped, names apart from the text around them.

Also here:

* How single values are written.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from importlib.resources.abc import Traversable
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pramana_core.pictures.svg import printable, short
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification

_SHARED = "pramana_core.pages"
_MEDIA = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@dataclass(frozen=True)
class Pages:
    """The templates of a package, and the files that its pages load, beside those of all sides.

    Attributes:
        package: has the folders `templates` and `static`.
    """

    package: str

    def render(self, template: str, *, address: str = "", **shown: Any) -> bytes:
        """Return the text of a page; what no text may hold is replaced.

        Args:
            template: a file of the folder `templates`.
            address: of the page in the service. Links of the page become relative to it, so that
                they hold behind a proxy that puts a prefix before all addresses.
            shown: what the template names.
        """
        text = self._environment.get_template(template).render(**shown)
        if address:
            # What people wrote is escaped: it has no quotation mark.
            text = _LINK.sub(rf'\1="{relative("/", address)}', text)
        return printable(text).encode("utf-8", "replace")

    def static(self, name: str) -> tuple[bytes, str] | None:
        """Return a file that pages load, and its media type; None where there is none."""
        media = _MEDIA.get(name.rpartition(".")[2])
        if media is None or name not in self._files:
            return None
        return self._files[name].read_bytes(), media

    @cached_property
    def version(self) -> str:
        """What is another where a file that pages load is: a browser keeps no old one."""
        held = b"".join(self._files[name].read_bytes() for name in sorted(self._files))
        return hashlib.sha256(held).hexdigest()[:8]

    @cached_property
    def _files(self) -> dict[str, Traversable]:
        folders = [importlib.resources.files(one) / "static" for one in (_SHARED, self.package)]
        return {one.name: one for folder in folders for one in folder.iterdir()}

    @cached_property
    def _environment(self) -> Environment:
        made = Environment(
            loader=ChoiceLoader([PackageLoader(self.package), PackageLoader(_SHARED)]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        made.globals["version"] = self.version
        made.filters.update(
            name=_name, sentence=_sentence, when=_when, number=_number, epsilon=_epsilon, bar=_bar
        )
        return made


_LINK = re.compile(r'\b(href|src|action|data-follow)="/')


def relative(address: str, at: str) -> str:
    """Return an address of the service as seen from a page of it."""
    return ("../" * (at.count("/") - 1) or "./") + address.removeprefix("/")


# How single values are written.


def _name(words: object) -> Markup:
    """Return a name that people gave; marks in it turn nothing around it."""
    return Markup("<bdi>{}</bdi>").format(printable(str(words)))


def _sentence(words: object) -> Markup:
    """Return a sentence that names things people gave; what is typed, in backticks, as code."""
    parts = printable(str(words)).split("`")
    if len(parts) % 2 == 0:
        return _name(words)
    marked = (Markup("<code>{}</code>").format(p) if i % 2 else p for i, p in enumerate(parts))
    return Markup("<bdi>{}</bdi>").format(Markup("").join(marked))


def _when(moment: datetime | None) -> Markup:
    if moment is None:
        return Markup("–")
    written = moment.strftime("%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}">{} UTC</time>').format(moment.isoformat(), written)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _epsilon(value: float | None) -> str:
    """Return an epsilon; what nothing bounds has none."""
    return "no bound" if value is None or math.isinf(value) else f"{value:.4g}"


def _bar(parts: list[tuple[str, float]], whole: float, words: str) -> Markup:
    """Return a bar: its parts, each of a class and a length, of a whole; `words` say the same."""
    x, drawn = 0.0, []
    for kind, length in parts:
        width = 100 * min(max(length / whole if whole else 0.0, 0.0), 1.0)
        rect = Markup('<rect class="{}" x="{:.2f}" width="{:.2f}" height="10"/>')
        drawn.append(rect.format(kind, x, width))
        x += width
    return Markup(
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img"'
        ' aria-label="{}"><rect class="ground" width="100" height="10"/>{}</svg>'
    ).format(printable(words), Markup("").join(drawn))


_NAMES, _BLOCKS = 6, 12

_APART = "\u2068{}\u2069"
"""A name whose own direction turns nothing around it (Unicode's isolates)."""


def plan_words(plan: Plan, *, whole: bool = False) -> list[str]:
    """Return a sentence on each block of a plan, and one on what is told as it is.

    Args:
        plan: the plan.
        whole: name every block and variable, and not only the first of many.
    """
    names = None if whole else _NAMES
    as_it_is = [name for block in plan.blocks if block.channel.is_identity for name in block.names]
    randomized = [block for block in plan.blocks if not block.channel.is_identity]
    shown = randomized if whole else randomized[:_BLOCKS]
    words = [_block_words(block, names) for block in shown]
    if len(randomized) > len(shown):
        words.append(f"And {len(randomized) - len(shown)} more blocks of variables.")
    if as_it_is:
        how = "as it is" if len(as_it_is) == 1 else "as they are"
        words.append(f"{named(as_it_is, names)}: told {how}, not randomized.")
    return words


def apart(name: str) -> str:
    """Return a name, shortened, whose own direction turns nothing around it."""
    return _APART.format(short(name, 60))


def named(names: Sequence[str], most: int | None = _NAMES) -> str:
    """Return names as people read them: the first few, and how many more there are."""
    shown = names if most is None else names[:most]
    more = len(names) - len(shown)
    words = ", ".join(map(apart, shown))
    return f"{words} and {more} more" if more > 0 else words


def _block_words(block: Block, names: int | None) -> str:
    together = " together" if len(block.names) > 1 else ""
    words = Amplification.of(block.channel).told
    return f"{named(block.names, names)}{together}: {block.channel.describe()}; {words}."
