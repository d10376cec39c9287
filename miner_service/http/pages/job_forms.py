"""A form for each kind of job: its fields are those of the kind's own specification."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError
from sqlalchemy.orm import Session

from miner_service.kinds import JOB_KINDS
from miner_service.kinds.base import JobKind
from miner_service.store.releases import content_of, releases_in_use
from pramana_core.errors import InputError, OptionError
from pramana_core.pages.forms import Sent
from pramana_core.wire.learning.jobs import JobCreate
from pramana_core.wire.releases.catalogue import KINDS

_LISTS = frozenset({"variables", "attributes", "features"})
"""Fields that name several variables of the study."""

_FIRST = (*_LISTS, "target", "structure", "minimum_support", "model", "method", "records")
"""Fields that are shown at once; the others have good defaults, and wait below."""


@dataclass(frozen=True)
class Input:
    """A field of a form.

    Attributes:
        kind: `choice`, `number`, `flag`, `variable`, `variables`, `text` or `json`.
        default: the text that stands in it at first.
        nullable: whether it may be emptied, which then says something.
    """

    name: str
    kind: str
    required: bool
    default: str
    options: tuple[str, ...] = ()
    lowest: float | None = None
    highest: float | None = None
    whole: bool = False
    nullable: bool = False

    @property
    def label(self) -> str:
        """Its name for people."""
        return self.name.replace("_", " ")

    @property
    def first(self) -> bool:
        """Whether it is shown at once."""
        return self.required or self.name in _FIRST


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

    def read(self, sent: Sent) -> JobCreate:
        """Return the job that a form asks for. Raises InputError."""
        asked = {"kind": self.kind}
        for one in self.inputs:
            asked.update(_read(one, sent))
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
        name = str(spec.model_json_schema()["properties"]["kind"]["const"])
        found[name] = JobForm(name, inspect.getdoc(spec) or "", tuple(_inputs(spec)), kind)
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


def _inputs(spec: type[BaseModel]) -> Iterator[Input]:
    schema = spec.model_json_schema()
    required = set(schema.get("required", ()))
    for name, told in schema["properties"].items():
        if name == "kind":
            continue
        kinds = told.get("anyOf", [told])
        plain = next((one for one in kinds if one.get("type") != "null"), told)
        optional = name not in required
        default = told.get("default")
        yield Input(
            name=name,
            kind=_kind(name, plain),
            required=not optional,
            default=_written(default),
            options=_options(plain, empty=optional and default is None),
            lowest=plain.get("minimum"),
            highest=plain.get("maximum"),
            whole=plain.get("type") == "integer",
            nullable=any(one.get("type") == "null" for one in kinds),
        )


def _kind(name: str, told: Mapping[str, Any]) -> str:
    if name in _LISTS:
        return "variables"
    if name == "target":
        return "variable"
    if "enum" in told:
        return "choice"
    match told.get("type"):
        case "integer" | "number":
            return "number"
        case "boolean":
            return "flag"
        case "string":
            return "text"
    return "json"


def _options(told: Mapping[str, Any], *, empty: bool) -> tuple[str, ...]:
    if "enum" not in told:
        return ()
    return ("",) * empty + tuple(map(str, told["enum"]))


def _written(default: Any) -> str:
    if default is None:
        return ""
    return default if isinstance(default, str) else json.dumps(default)


def _read(one: Input, sent: Sent) -> dict[str, Any]:
    """Return what a field says; nothing where it was left as empty as it was."""
    if one.kind == "flag":
        return {one.name: sent.text(one.name) == "on"}
    if one.kind == "variables":
        chosen = sent.every(one.name)
        return {one.name: chosen} if chosen else {}
    text = sent.text(one.name)
    if not text:
        emptied = one.nullable and one.default and one.name in sent.fields
        return {one.name: None} if emptied else {}
    try:
        if one.kind == "number":
            return {one.name: int(text) if one.whole else float(text)}
        return {one.name: json.loads(text) if one.kind == "json" else text}
    except ValueError as error:
        what = "JSON" if one.kind == "json" else "a number"
        raise InputError(
            f"{one.label}: this is not {what}.", where=one.name, remedy="Correct it."
        ) from error
