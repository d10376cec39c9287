"""Whether a release under a linkage secret fits those of a study's other owners."""

from __future__ import annotations

from pramana_core.errors import LinkageDiffers
from pramana_core.wire.base import Message, Name, People, Sha256, holding
from pramana_core.wire.releases.messages import SecretsState


class LinkageQuestion(Message):
    """A linkage secret, by its `fingerprint`: as `linkage` of a release.

    It is asked for in the body of a request: addresses are written down on the way.
    """

    fingerprint: Sha256


class LinkageCheck(Message):
    """What the miner says of an owner's linkage secret, by its fingerprint, and of the study.

    `secrets` compares it with the newest releases of the other active owners; `others` have
    `different` ones, and `unknown` says that one has no fingerprint, or that there is none yet. A
    release is `refused` where the study's owners may hold the same people and secrets differ.
    """

    study: Name
    people: People
    secrets: SecretsState
    others: list[Name]
    refused: bool

    def require_accepted(self) -> None:
        """Check that a release under this secret is taken. Raises LinkageDiffers."""
        if self.refused:
            raise linkage_differs(self.study, self.people, self.others)


def linkage_differs(study: str, people: People, others: list[str]) -> LinkageDiffers:
    """Return the error of a release under another linkage secret than that of other owners."""
    each = ", ".join(others)
    return LinkageDiffers(
        f"The linkage secret here differs from that of {each}, and study {study} says that"
        f" its owners {holding(people)}: one person would have other pseudonyms here, so"
        " that nothing could be joined, and the release would tell of the same people once more."
        " Nothing was sent.",
        where="linkage",
        remedy=f"Compare `owner-agent keys show` with {each}. If theirs is the one agreed on, take"
        " keys/linkage.key out of the state directory, and `owner-agent keys import linkage FILE`"
        " with theirs. If this one is, let them withdraw their releases, import it and publish"
        " again: that costs privacy a second time. If the owners hold different people, let whoever"
        f" runs the study say so with `miner-service study people {study} different`.",
    )
