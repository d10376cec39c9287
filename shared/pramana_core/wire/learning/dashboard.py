"""The dashboard: where the studies of a caller stand."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from pramana_core.wire.base import Message
from pramana_core.wire.learning.jobs import Job
from pramana_core.wire.learning.models import ModelEntry
from pramana_core.wire.privacy import Owner, Study, StudyPrivacy, TokenEnding
from pramana_core.wire.releases import Alignment, Release


class DashboardStudy(Message):
    """One study on the dashboard."""

    study: Study
    owners: list[Owner]
    releases: list[Release]
    alignment: Alignment
    privacy: StudyPrivacy
    jobs: list[Job]
    models: list[ModelEntry]


class Dashboard(Message):
    """What the caller may see, at one moment; `ending` are tokens that end soon."""

    at: datetime
    studies: list[DashboardStudy]
    ending: Annotated[list[TokenEnding], Field(default_factory=list)]
