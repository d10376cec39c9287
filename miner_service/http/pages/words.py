"""What was released under which plan, in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pramana_core.pages.words import named, plan_words
from pramana_core.wire.releases import Release


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
        told_so = f"{named(told)} told as they are." if told else ""
        first = f"{named(masked)} masked by {content.method}{copies}."
        return tuple(one for one in (first, told_so, *content.protection) if one)
    if held.kind == "knowledge-model":
        if content.tree is None:
            return ("A knowledge model, which was withdrawn.",)
        noise = "" if content.epsilon is None else f", epsilon {content.epsilon:.4g}"
        return (f"A decision tree with {content.counts} counts{noise}.", *content.protection)
    return tuple(plan_words(content.to_plan()))
