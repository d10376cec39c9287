"""What was released under which plan, in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pramana_core.pictures.svg import short
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification
from pramana_core.wire.releases import Release

_NAMES, _BLOCKS = 6, 12

_APART = "\u2068{}\u2069"
"""A name whose own direction turns nothing around it (Unicode's isolates)."""


def release_words(release: Release) -> list[str]:
    """Return sentences on what a release holds and how it is protected."""
    return list(_words(_Held(release.kind, release.content_digest, release.content)))


@dataclass(frozen=True)
class _Held:
    """What a release holds, which is the same wherever its digest is."""

    kind: str
    digest: str
    content: Any = field(compare=False, repr=False)


@lru_cache(maxsize=1024)
def _words(held: _Held) -> tuple[str, ...]:
    content = held.content
    if held.kind == "masked-records":
        masked = [column.name for column in content.columns if column.role == "masked"]
        told = [column.name for column in content.columns if column.role == "told"]
        copies = f", {content.copies} copies" if content.copies > 1 else ""
        told_so = f"{_named(told)} told as they are." if told else ""
        first = f"{_named(masked)} masked by {content.method}{copies}."
        return tuple(one for one in (first, told_so, *content.protection) if one)
    if held.kind == "knowledge-model":
        if content.tree is None:
            return ("A knowledge model, which was withdrawn.",)
        noise = "" if content.epsilon is None else f", epsilon {content.epsilon:.4g}"
        return (f"A decision tree with {content.counts} counts{noise}.", *content.protection)
    return _plan_words(content.to_plan())


def _plan_words(plan: Plan) -> tuple[str, ...]:
    as_it_is = [name for block in plan.blocks if block.channel.is_identity for name in block.names]
    randomized = [block for block in plan.blocks if not block.channel.is_identity]
    told = [_block_words(block) for block in randomized[:_BLOCKS]]
    if len(randomized) > _BLOCKS:
        told.append(f"And {len(randomized) - _BLOCKS} more blocks of variables.")
    if as_it_is:
        told.append(f"{_named(as_it_is)}: told as they are, not randomized.")
    return tuple(told)


def _block_words(block: Block) -> str:
    together = " together" if len(block.names) > 1 else ""
    told = Amplification.of(block.channel).told
    return f"{_named(block.names)}{together}: {block.channel.describe()}; {told}."


def _named(names: list[str] | tuple[str, ...]) -> str:
    shown = ", ".join(_APART.format(short(name, 60)) for name in names[:_NAMES])
    more = len(names) - _NAMES
    return f"{shown} and {more} more" if more > 0 else shown
