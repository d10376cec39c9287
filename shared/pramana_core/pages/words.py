"""Values and plans as HTML. The text direction of a name does not affect the text around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from markupsafe import Markup

from pramana_core.alike import first_few
from pramana_core.pictures.svg import printable, short
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification
from pramana_core.rounding import rounded_down, rounded_up


def write_name(words: object) -> Markup:
    """Return a name that a person entered, isolated from the surrounding text direction."""
    return Markup("<bdi>{}</bdi>").format(printable(str(words)))


def write_sentence(words: object) -> Markup:
    """Return a sentence as HTML, with the parts in backticks as code."""
    parts = printable(str(words)).split("`")
    if len(parts) % 2 == 0:
        return write_name(words)
    marked = (Markup("<code>{}</code>").format(p) if i % 2 else p for i, p in enumerate(parts))
    return Markup("<bdi>{}</bdi>").format(Markup("").join(marked))


def write_when(moment: datetime | None) -> Markup:
    if moment is None:
        return Markup("–")
    written = moment.strftime("%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}">{} UTC</time>').format(moment.isoformat(), written)


def write_number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def write_epsilon(value: float | None) -> str:
    """Return an epsilon, rounded up, or "no bound" if it is missing or infinite."""
    return "no bound" if value is None or math.isinf(value) else rounded_up(value)


def write_bar(parts: list[tuple[str, float]], whole: float, words: str) -> Markup:
    """Return a bar of parts, each with a class and a length out of `whole`, with label `words`."""
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


_BLOCKS = 12

_APART = "\u2068{}\u2069"
"""A name in Unicode isolates, so that its direction does not affect the surrounding text."""


def plan_words(plan: Plan) -> list[str]:
    """Return a sentence for each of a plan's first blocks, and one for its public variables."""
    unchanged = [name for block in plan.blocks if block.channel.is_identity for name in block.names]
    randomized = [block for block in plan.blocks if not block.channel.is_identity]
    words = [_block_words(block) for block in randomized[:_BLOCKS]]
    if len(randomized) > _BLOCKS:
        words.append(f"And {len(randomized) - _BLOCKS} more blocks of variables.")
    if unchanged:
        words.append(f"{named(unchanged)}: released unchanged.")
    return words


def apart(name: str) -> str:
    """Return a shortened name, isolated from the surrounding text direction."""
    return _APART.format(short(name, 60))


def named(names: Sequence[str]) -> str:
    """Return names as a list for people: the first few and the count of the others."""
    return first_few(map(apart, names))


def _block_words(block: Block) -> str:
    together = " together" if len(block.names) > 1 else ""
    words = Amplification.of(block.channel).told
    return f"{named(block.names)}{together}: {block.channel.describe()}; {words}."


FILTERS = {
    "name": write_name,
    "sentence": write_sentence,
    "when": write_when,
    "number": write_number,
    "epsilon": write_epsilon,
    "remainder": rounded_down,
    "bar": write_bar,
}
"""The filters for templates."""
