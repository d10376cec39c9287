"""The dashboard: where the studies of a caller stand."""

from __future__ import annotations

from datetime import datetime

from shared.wire.base import Message
from shared.wire.learning.jobs import Job
from shared.wire.learning.models import ModelEntry
from shared.wire.people import Owner, Study
from shared.wire.privacy import StudyPrivacy
from shared.wire.releases import Alignment, Release


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
    """What the caller may see, at one moment."""

    at: datetime
    studies: list[DashboardStudy]
