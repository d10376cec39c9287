"""Options of publishing."""

from __future__ import annotations

from dataclasses import dataclass

from owner_agent.site.corrections import CorrectionChoice

PART_RECORDS = 100_000

STAGES = {
    "randomizing": "reading and randomizing",
    "sorting": "sorting by pseudonym",
    "pseudonyms": "computing pseudonyms",
    "relationships": "measuring relationships",
    "masking": "masking",
    "measuring": "measuring",
    "growing": "growing the tree",
    "drawing": "drawing the report",
    "parts": "uploading parts",
}
"""Texts for the stages of a release, by their names in progress reports."""


@dataclass(frozen=True)
class PublishOptions:
    """Options of publishing: the size of parts, and the custodian's choices.

    `corrections` chooses the reports of records with changed values; None means as in the site
    file. A `preview` is never sent.
    """

    part_records: int = PART_RECORDS
    accept_added_loss: bool = False
    corrections: CorrectionChoice | None = None
    accept_new_people: bool = False
    preview: bool = False
    alone: bool = False
