"""How to publish, where there is a choice."""

from __future__ import annotations

from dataclasses import dataclass

from owner_agent.site.corrections import CorrectionChoice

PART_RECORDS = 100_000

STAGES = {
    "randomizing": "reading and randomizing",
    "sorting": "sorting by pseudonym",
    "pseudonyms": "computing pseudonyms",
    "relationships": "looking at relationships",
    "masking": "masking",
    "measuring": "measuring",
    "growing": "growing the tree",
    "drawing": "drawing the report",
    "parts": "uploading parts",
}
"""The stages of making and sending a release, in words, by their names in progress."""


@dataclass(frozen=True)
class PublishOptions:
    """How to publish: the size of parts, and what the custodian chose.

    `corrections` decides about records with other values now; None leaves it to the site file. A
    `preview` sends nothing.
    """

    part_records: int = PART_RECORDS
    accept_added_loss: bool = False
    corrections: CorrectionChoice | None = None
    accept_new_people: bool = False
    preview: bool = False
    alone: bool = False
