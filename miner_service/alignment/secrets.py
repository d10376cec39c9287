"""Whether owners' pseudonyms were made under one linkage secret, by the releases' fingerprints.

Under another secret the same person has another pseudonym: that two owners have none in common then
says nothing of whom they know.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pramana_core.wire.releases import SecretsState


@dataclass(frozen=True)
class Secrets:
    """The owners of some releases, grouped by the fingerprints of their linkage secrets.

    Of the owners in `unsaid` a release has no fingerprint; from that nothing is concluded.
    """

    groups: tuple[tuple[str, ...], ...]
    unsaid: tuple[str, ...]

    @classmethod
    def of(cls, releases: Iterable[tuple[str, str | None]]) -> Secrets:
        """Return the groups of releases, each given by its owner and its fingerprint."""
        found: dict[str, dict[str, None]] = {}
        unsaid: dict[str, None] = {}
        for owner, linkage in releases:
            (unsaid if linkage is None else found.setdefault(linkage, {}))[owner] = None
        return cls(tuple(tuple(owners) for owners in found.values()), tuple(unsaid))

    @property
    def state(self) -> SecretsState:
        """Whether there is one secret; not known where a fingerprint is missing."""
        if len(self.groups) > 1:
            return "different"
        return "same" if self.groups and not self.unsaid else "unknown"
