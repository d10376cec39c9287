"""What one owner learned in a session, before it is shared or written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shared.learn.bayes_net import LearnedFamily
from shared.learn.structure_learning import LearnedLink

Watch = Callable[[int, int], None]
"""Called with (done, total); may raise to stop."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What one owner learned: its families of the network, or files for itself alone."""

    families: tuple[LearnedFamily, ...] = ()
    links: tuple[LearnedLink, ...] = ()
    files: Mapping[str, bytes] | None = None

    @classmethod
    def kept(cls, texts: Mapping[str, str]) -> Findings:
        """Return files for this owner alone, by name."""
        return cls(files={name: text.encode() for name, text in texts.items()})
