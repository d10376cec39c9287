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
"""What is being done while a release is made and sent, by the names that progress is told by."""


@dataclass(frozen=True)
class PublishOptions:
    """How to publish: the size of parts, and what is chosen where privacy would be lost.

    `corrections` is what to do with records that were reported before and have other values now;
    None leaves it to the site file, and refuses where that is silent. `accept_new_people` says of
    a large exchange that the new records are people who were never reported. A `preview` sends
    nothing: it is drawn by keys of the moment where a site that never published has none yet.
    """

    part_records: int = PART_RECORDS
    accept_added_loss: bool = False
    corrections: CorrectionChoice | None = None
    accept_new_people: bool = False
    preview: bool = False
