"""A form for each kind of job: its fields are those of the kind's own specification."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError
from sqlalchemy.orm import Session

from miner_service.http.pages.job_inputs import Input, inputs_of, nested
from miner_service.kinds import JOB_KINDS
from miner_service.kinds.base import JobKind
from miner_service.kinds.telling import told_of_each, told_of_plans, told_of_records
from miner_service.store.releases import content_of, releases_in_use
from pramana_core.errors import InputError, OptionError
from pramana_core.pages.forms import Sent
from pramana_core.wire.learning.jobs import JobCreate
from pramana_core.wire.releases import Alignment
from pramana_core.wire.releases.base import RANDOMIZED
from pramana_core.wire.releases.catalogue import KINDS


@dataclass(frozen=True)
class JobForm:
    """The form of a kind of job."""

    kind: str
    told: str
    inputs: tuple[Input, ...]
    of: JobKind[Any, Any, Any]

    @property
    def label(self) -> str:
        """The kind for people."""
        return self.kind.replace("-", " ")

    def read(self, sent: Sent, variables: Iterable[str]) -> JobCreate:
        """Return the job that a form asks for, at a study of some variables. Raises InputError."""
        values: dict[str, Any] = {}
        for one in self.inputs:
            values.update(one.read(sent, variables))
        asked = {"kind": self.kind, **nested(values, self.inputs)}
        try:
            return JobCreate.model_validate({"spec": asked})
        except ValidationError as error:
            wrong = error.errors()[0]
            where = ".".join(str(step) for step in wrong["loc"][2:]) or "form"
            raise InputError(
                f"{where.replace('_', ' ')}: {wrong['msg']}", where=where, remedy="Correct it."
            ) from error


@cache
def job_forms() -> Mapping[str, JobForm]:
    """Return the form of every kind of job, by the kind's name."""
    found = {}
    for kind in JOB_KINDS.values():
        spec: type[BaseModel] = kind.spec
        schema = spec.model_json_schema()
        name = str(schema["properties"]["kind"]["const"])
        found[name] = JobForm(name, inspect.getdoc(spec) or "", inputs_of(schema), kind)
    return dict(sorted(found.items()))


def form_of(kind: str) -> JobForm:
    """Return the form of a kind of job. Raises OptionError."""
    if kind not in job_forms():
        raise OptionError(
            "There is no such kind of job.", where="kind", remedy=f"There are {list(job_forms())}."
        )
    return job_forms()[kind]


def variables_of(session: Session, study: str, form: JobForm) -> list[tuple[str, str]]:
    """Return the variables that a job of a kind can use, each with its owner."""
    rows = releases_in_use(session, study, form.of.release_kind)
    kind = KINDS[form.of.release_kind]
    return [(name, owner) for owner, row in rows.items() for name in kind.columns(content_of(row))]


def told_at_first(session: Session, study: str, form: JobForm, alignment: Alignment) -> list[str]:
    """Return what a job of a kind can tell of the records that are here, whatever it asks for."""
    rows = releases_in_use(session, study, form.of.release_kind)
    if form.of.release_kind != RANDOMIZED:
        return told_of_records(form.kind, max((row.records for row in rows.values()), default=0))
    plans = {owner: content_of(row) for owner, row in rows.items()}
    if alignment.in_all:
        return told_of_plans(form.kind, list(plans.values()), alignment.in_all)
    # What no record joins is not told of together.
    released = {owner: (plan, rows[owner].records) for owner, plan in plans.items()}
    return told_of_each(form.kind, released, alignment.in_any or 0)
