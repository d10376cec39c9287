"""The tables. The column `seq` orders every list and is never sent to clients."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, ClassVar

from sqlalchemy import (
    BigInteger,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class UtcDateTime(TypeDecorator[datetime]):
    """A column type for times, stored in UTC without a zone and returned with the zone UTC."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Any) -> datetime | None:
        """Convert a time to UTC and drop the zone."""
        return value.astimezone(UTC).replace(tzinfo=None) if value is not None else None

    def process_result_value(self, value: datetime | None, _dialect: Any) -> datetime | None:
        """Restore the zone of a time."""
        return value.replace(tzinfo=UTC) if value is not None else None


class Base(DeclarativeBase):
    """The base class of all rows."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: UtcDateTime,
        float: Double(),
        # Counts of records and bytes may exceed 32 bits. SQLite's integers always have 64.
        int: BigInteger().with_variant(Integer(), "sqlite"),
        str: String(300),
    }


class StudyRow(Base):
    """A study. Its optional budget is in epsilons; `StudyCreate` describes the field `people`."""

    __tablename__ = "studies"

    seq: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str] = mapped_column(String(500))
    created: Mapped[datetime]
    max_epsilon_record: Mapped[float | None]
    max_epsilon_column: Mapped[float | None]
    max_central_epsilon: Mapped[float | None]
    central_delta: Mapped[float] = mapped_column(server_default="1e-8")
    central_records: Mapped[int | None]
    people: Mapped[str] = mapped_column(default="overlapping")

    @property
    def record_limit(self) -> float | None:
        """The largest epsilon of a record that both budgets allow for all plans."""
        limits = (self.max_epsilon_record, self.central_limit)
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def central_limit(self) -> float | None:
        """The largest epsilon of a record that the central budget allows for all plans."""
        if self.max_central_epsilon is None or self.central_records is None:
            return None
        return _central_limit(self.central_records, self.max_central_epsilon, self.central_delta)


@lru_cache
def _central_limit(records: int, epsilon: float, delta: float) -> float:
    # Imported here: the supervisor of jobs reads rows and needs no numerical library.
    from pramana_core.privacy import CentralLoss, largest_gamma

    return math.log(largest_gamma(records, CentralLoss(epsilon, delta)))


class StudyPlanRow(Base):
    """The study plan on which a study's owners agreed, as canonical JSON, and its digest."""

    __tablename__ = "study_plans"

    study: Mapped[str] = mapped_column(ForeignKey("studies.name"), primary_key=True)
    digest: Mapped[str]
    plan: Mapped[str] = mapped_column(Text)
    agreed: Mapped[datetime]


class TokenRow(Base):
    """A bearer token, stored as its hash. The tokens of admins and monitors belong to no study."""

    __tablename__ = "tokens"

    seq: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    hash: Mapped[str]
    role: Mapped[str]
    study: Mapped[str | None] = mapped_column(ForeignKey("studies.name"), index=True)
    name: Mapped[str]
    created: Mapped[datetime]
    revoked: Mapped[bool] = mapped_column(default=False)
    expires: Mapped[datetime | None]
    last_used: Mapped[datetime | None]


class InvitationRow(Base):
    """An invitation. Its secret is stored as hash; `days` is the lifetime of the owner's token."""

    __tablename__ = "invitations"

    seq: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    hash: Mapped[str]
    study: Mapped[str] = mapped_column(ForeignKey("studies.name"), index=True)
    owner: Mapped[str]
    created: Mapped[datetime]
    expires: Mapped[datetime]
    days: Mapped[int | None]
    accepted: Mapped[datetime | None]


class OwnerRow(Base):
    """An owner of a study; `linkage` is the linkage fingerprint that the owner last checked."""

    __tablename__ = "owners"
    __table_args__ = (UniqueConstraint("study", "name"),)

    seq: Mapped[int] = mapped_column(primary_key=True)
    study: Mapped[str] = mapped_column(ForeignKey("studies.name"))
    name: Mapped[str]
    joined: Mapped[datetime]
    linkage: Mapped[str | None]
    active: Mapped[bool] = mapped_column(default=True)


class ReleaseRow(Base):
    """A release of some kind with its `content`. The columns after `sealed` are set at the seal.

    `sealing` orders the seals, independently of the clock. `draws` and `keyed_draws` identify each
    block's draws, as stated by the owner. `consistency` and `repeated` are the findings at the
    seal. `linkage` is the linkage fingerprint; `row_bytes` is the size of one record's columns.
    `groups` are the groups of categories that the owner states, as JSON.
    """

    __tablename__ = "releases"
    __table_args__ = (UniqueConstraint("study", "owner", "name"),)

    seq: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    study: Mapped[str] = mapped_column(ForeignKey("studies.name"), index=True)
    owner: Mapped[str]
    name: Mapped[str]
    state: Mapped[str]
    kind: Mapped[str]
    content: Mapped[str] = mapped_column(Text)
    content_digest: Mapped[str]
    records: Mapped[int]
    row_bytes: Mapped[int] = mapped_column(default=0)
    digest: Mapped[str]
    created: Mapped[datetime]
    sealed: Mapped[datetime | None]
    sealing: Mapped[int | None] = mapped_column(unique=True)
    keys_digest: Mapped[str | None]
    data_sha256: Mapped[str | None]
    draws: Mapped[str | None] = mapped_column(Text)
    consistency: Mapped[str | None] = mapped_column(Text)
    linkage: Mapped[str | None]
    repeated: Mapped[str | None] = mapped_column(Text)
    keyed_draws: Mapped[str | None] = mapped_column(Text)
    groups: Mapped[str | None] = mapped_column(Text)


class PartRow(Base):
    """An announced part; `received` and `media` are set once its bytes are safely on disk."""

    __tablename__ = "parts"
    __table_args__ = (
        Index(
            "parts_arrived",
            "release",
            "number",
            sqlite_where=text("received IS NOT NULL"),
            postgresql_where=text("received IS NOT NULL"),
        ),
    )

    release: Mapped[str] = mapped_column(ForeignKey("releases.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    records: Mapped[int]
    bytes: Mapped[int]
    sha256: Mapped[str]
    media: Mapped[str | None]
    received: Mapped[datetime | None]


class ReportPlanRow(Base):
    """The plan for single records, under the name of an `owner`; `records` counts the reports."""

    __tablename__ = "report_plans"

    study: Mapped[str] = mapped_column(ForeignKey("studies.name"), primary_key=True)
    owner: Mapped[str]
    state: Mapped[str]
    digest: Mapped[str]
    plan: Mapped[str] = mapped_column(Text)
    published: Mapped[datetime]
    records: Mapped[int] = mapped_column(default=0)


class ReportBatchRow(Base):
    """A counted batch; `key` is the hash of its name, `digest` a MAC of its reports."""

    __tablename__ = "report_batches"
    __table_args__ = ({"sqlite_with_rowid": False},)

    key: Mapped[str] = mapped_column(primary_key=True)
    study: Mapped[str] = mapped_column(ForeignKey("studies.name"), index=True)
    gateway: Mapped[str]
    digest: Mapped[str]
    records: Mapped[int]


class ReportCellRow(Base):
    """The count of one row of codes. The table is sorted by these rows."""

    __tablename__ = "report_cells"
    __table_args__ = ({"sqlite_with_rowid": False},)

    study: Mapped[str] = mapped_column(ForeignKey("studies.name"), primary_key=True)
    cell: Mapped[bytes] = mapped_column(primary_key=True)
    records: Mapped[int]


class JobRow(Base):
    """A job; `releases` are its input, `attempt` numbers its runs.

    `broken_off` counts consecutive interrupted runs. `lease` names the supervisor; `beat` counts
    signs of life. `name` may change and is also the name of the job's model.
    """

    __tablename__ = "jobs"
    __table_args__ = (UniqueConstraint("study", "key"),)

    seq: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    study: Mapped[str] = mapped_column(ForeignKey("studies.name"), index=True)
    key: Mapped[str]
    default_key: Mapped[bool]
    name: Mapped[str] = mapped_column(default="")
    spec: Mapped[str] = mapped_column(Text)
    releases: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(index=True)
    attempt: Mapped[int] = mapped_column(default=1)
    broken_off: Mapped[int] = mapped_column(default=0)
    progress: Mapped[float] = mapped_column(default=0.0)
    model: Mapped[str | None]
    problem: Mapped[str | None] = mapped_column(Text)
    created: Mapped[datetime]
    finished: Mapped[datetime | None]
    records: Mapped[str | None]
    estimator: Mapped[str | None]
    started: Mapped[datetime | None]
    lease: Mapped[str | None]
    beat: Mapped[int] = mapped_column(default=0)


class JobLogRow(Base):
    """A line in the log of a job's run."""

    __tablename__ = "job_log"

    seq: Mapped[int] = mapped_column(primary_key=True)
    job: Mapped[str] = mapped_column(ForeignKey("jobs.id"), index=True)
    attempt: Mapped[int]
    at: Mapped[datetime]
    line: Mapped[str] = mapped_column(Text)


class ModelRow(Base):
    """A learned model of some kind, as JSON."""

    __tablename__ = "models"

    seq: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    study: Mapped[str] = mapped_column(ForeignKey("studies.name"), index=True)
    job: Mapped[str] = mapped_column(ForeignKey("jobs.id"))
    kind: Mapped[str]
    body: Mapped[str] = mapped_column(Text)
    created: Mapped[datetime]
    holds_releases: Mapped[bool] = mapped_column(default=False)
    lack_of_fit: Mapped[str | None] = mapped_column(Text)
    verdict: Mapped[str] = mapped_column(default="")
    name: Mapped[str] = mapped_column(default="")


class SupervisorRow(Base):
    """A supervisor of jobs. `beat` counts its signs of life; `seen` is the time of the last one."""

    __tablename__ = "supervisors"

    name: Mapped[str] = mapped_column(primary_key=True)
    host: Mapped[str]
    workers: Mapped[int]
    started: Mapped[datetime]
    beat: Mapped[int] = mapped_column(default=0)
    seen: Mapped[datetime]


class SessionRow(Base):
    """A browser session. `key` is the hash of its cookie, and `token` is the id of its token."""

    __tablename__ = "sessions"

    key: Mapped[str] = mapped_column(primary_key=True)
    token: Mapped[str] = mapped_column(index=True)
    began: Mapped[datetime]
    seen: Mapped[datetime]


class KeyRow(Base):
    """A key that all processes of the service share; see `database`."""

    __tablename__ = "service_keys"

    name: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[bytes]
