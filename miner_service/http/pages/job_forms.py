"""Forms of jobs, generated from the schema of each kind."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any
from urllib.parse import urlencode

from pydantic import BaseModel
from sqlalchemy.orm import Session

from miner_service.http.pages.rendering import read_message
from miner_service.kinds import JOB_KINDS
from miner_service.kinds.base import JobKind
from miner_service.store.releases import content_of, releases_in_use
from pramana_core.errors import InputError, OptionError
from pramana_core.pages.forms import SentForm
from pramana_core.wire.jobs import JobCreate
from pramana_core.wire.release_kinds import KINDS

Schema = Mapping[str, Any]

_LISTS = frozenset({"variables", "attributes", "features"})
"""Fields that list several variables of the study."""

_FIRST = ("target", "structure", *sorted(_LISTS), "minimum_support", "model", "method", "records")
"""Fields shown first, in this order. The other fields have good defaults and are folded away."""

_NOT_ASKED = frozenset({"search.order", "items", "numeric"})
"""Fields that only the REST API and Python offer."""

_SETTLED = frozenset({"estimator", "order"})
"""Fields that the miner fills if a job omits them."""

_SENSIBLE = {"minimum_support": "0.1"}
"""Initial values of fields without a default."""

_LABELS = {
    ("records", "identical"): "the same at all owners",
    ("records", "common"): "only records at every owner",
    ("records", "any"): "all records",
    ("estimator", "moment"): "by moments",
    ("estimator", "sum"): "by moments, with equal weights",
    ("estimator", "ml"): "by maximum likelihood",
    ("estimator", "pooled"): "pooled over overlapping sets",
    ("method", "ml"): "by maximum likelihood",
    ("method", "map"): "with a Dirichlet prior",
    ("name", "likelihood"): "likelihood of the reports",
    ("name", "bic"): "BIC on estimated counts",
    ("name", "bayesian"): "Bayesian, on estimated counts",
    ("name", "bdeu"): "BDeu on estimated counts",
    ("model", "auto"): "chosen according to the noise",
    ("model", "naive-bayes"): "naive Bayes",
    ("model", "tan"): "tree-augmented naive Bayes",
    ("method", "pgen"): "pseudo-records drawn from the trees' paths",
    ("method", "basegen"): "uniform pseudo-records, labelled by the owner's tree",
    ("method", "labelled"): "uniform pseudo-records, labelled by all trees",
    ("method", "votes"): "votes of the trees",
}
"""Labels of options whose names are not clear enough, by the last part of the field's name."""


@dataclass(frozen=True)
class Input:
    """A field of a form. If `nullable`, an empty field means null."""

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
    def path(self) -> list[str]:
        """The field's path in the specification."""
        return self.name.split(".")

    @property
    def label(self) -> str:
        """The field's label."""
        return self.name.removesuffix(".name").replace(".", ": ").replace("_", " ")

    def option_label(self, option: str) -> str:
        """Return the label of an option."""
        return (
            _LABELS.get((self.path[-1], option)) or option.replace("-", " ") or "the best available"
        )

    @property
    def place(self) -> int | None:
        """The position among the fields shown first; None for a field that is folded away."""
        if self.name in _FIRST:
            return _FIRST.index(self.name)
        return len(_FIRST) if self.required else None

    @property
    def first(self) -> bool:
        """Whether the field is shown first."""
        return self.place is not None

    def read(self, sent: SentForm, variables: Collection[str]) -> dict[str, Any]:
        """Return the field's value under its name; {} for an empty field. Raises InputError."""
        if self.kind == "flag":
            return {self.name: sent.text(self.name) == "on"}
        if self.kind in ("variables", "owners"):
            chosen = _names(sent.every(self.name), variables)
            return {self.name: chosen} if chosen else {}
        text = sent.text(self.name)
        if self.kind == "mapping" and text:
            return {self.name: _mapping(text, self.name)}
        if not text:
            emptied = self.nullable and self.default and self.name in sent.fields
            return {self.name: None} if emptied else {}
        return {self.name: self._number(text) if self.kind == "number" else text}

    def _number(self, text: str) -> float:
        try:
            return int(text) if self.whole else float(text)
        except ValueError as error:
            raise InputError(
                f"{self.label}: this is not a number.", where=self.name, remedy="Enter a number."
            ) from error


def _names(texts: Iterable[str], known: Collection[str]) -> list[str]:
    """Return the names in a field: known names, JSON lists of names, or one name per line."""
    found: list[str] = []
    for text in texts:
        listed = [text] if text in known else _listed(text)
        found += filter(str.strip, re.split("\r?\n", text)) if listed is None else listed
    return found


def _listed(text: str) -> list[str] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    names = isinstance(found, list) and all(isinstance(one, str) for one in found)
    return found if names else None


def _mapping(text: str, where: str) -> dict[str, Any]:
    """Return the JSON object in a field. Raises InputError."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(
            f"{where}: this is not a JSON object.",
            where=where,
            remedy="Write the object as in the REST API; a name may contain any character.",
        )
    return found


def inputs_of(schema: Schema) -> tuple[Input, ...]:
    """Return the form fields for a specification's schema, starting with the fields in `first`."""
    found = list(_inputs(schema, schema.get("$defs", {}), ""))
    shown = sorted((one for one in found if one.first), key=lambda one: one.place or 0)
    return (*shown, *(one for one in found if not one.first))


def nested(values: Mapping[str, Any], inputs: Iterable[Input]) -> dict[str, Any]:
    """Return a specification as nested objects, from the values of its fields by path."""
    found: dict[str, Any] = {}
    for one in inputs:
        if one.name not in values:
            continue
        *above, last = one.path
        place = found
        for step in above:
            place = place.setdefault(step, {})
        place[last] = values[one.name]
    return found


def _inputs(schema: Schema, known: Mapping[str, Schema], within: str) -> Iterator[Input]:
    required = set(schema.get("required", ()))
    for name, field in schema["properties"].items():
        full = f"{within}{name}"
        if "const" in field or full in _NOT_ASKED:
            continue
        if "$ref" in field:
            field = {**known[field["$ref"].rpartition("/")[2]], **field}
        if "properties" in field:
            yield from _inputs(field, known, f"{full}.")
        else:
            yield _input(full, field, name in required)


def _input(full: str, schema: Schema, required: bool) -> Input:
    kinds = schema.get("anyOf", [schema])
    plain = next((one for one in kinds if one.get("type") != "null"), schema)
    default = schema.get("default")
    written = default if isinstance(default, str) else json.dumps(default)
    options = tuple(map(str, plain.get("enum", ())))
    # The form shows the study's default for `records`.
    may_be_empty = options and not required and default is None and full != "records"
    return Input(
        name=full,
        kind=_kind(full, plain),
        required=required,
        default=_SENSIBLE.get(full, "") if default in (None, {}) else written,
        options=("", *options) if may_be_empty else options,
        lowest=plain.get("minimum"),
        highest=plain.get("maximum"),
        whole=plain.get("type") == "integer",
        nullable=any(one.get("type") == "null" for one in kinds),
    )


def _kind(name: str, schema: Schema) -> str:
    if name in _LISTS:
        return "variables"
    if "enum" in schema:
        return "choice"
    by_type = {"integer": "number", "number": "number", "boolean": "flag", "object": "mapping"}
    by_name = {"target": "variable", "owners": "owners"}
    return by_name.get(name) or by_type.get(schema.get("type", ""), "text")


@dataclass(frozen=True)
class JobForm:
    """The form for a kind of job."""

    kind: str
    help: str
    inputs: tuple[Input, ...]
    of: JobKind[Any, Any, Any]

    @property
    def command(self) -> str:
        """The command with which an owner publishes a release for this kind of job."""
        return KINDS[self.of.release_kind].command

    @property
    def label(self) -> str:
        """The label of the kind."""
        return self.kind.replace("-", " ")

    def read(self, sent: SentForm, variables: Iterable[str]) -> JobCreate:
        """Return the job that a submitted form describes. Raises InputError."""
        # A browser sends each line break in a name as CR LF.
        known = {one.replace("\r\n", "\n"): one for one in variables}
        fields = {
            name: [known.get(one.replace("\r\n", "\n"), one) for one in texts]
            for name, texts in sent.fields.items()
        }
        sent = SentForm(fields)
        values: dict[str, Any] = {}
        for one in self.inputs:
            values.update(one.read(sent, [*known.values()]))
        spec = {"kind": self.kind, **nested(values, self.inputs)}
        return read_message(JobCreate, {"spec": spec}, leave_out=2)

    def fields_of(self, spec: Mapping[str, Any]) -> dict[str, list[str]]:
        """Return the form's fields, filled from a specification, without the miner's choices."""
        found = {}
        for one in self.inputs:
            value: Any = spec
            for step in one.path:
                value = value.get(step) if isinstance(value, dict) else None
            found[one.name] = [] if one.name in _SETTLED else _texts(value)
        return found

    def remedied(
        self, fields: Mapping[str, list[str]], remedy: str | None
    ) -> list[tuple[str, str]]:
        """Return the combinations of choices that an error's remedy suggests.

        Each combination is a label and the form's query string with all fields. Without a
        suggestion, the only label is empty and the fields are unchanged.
        """
        quoted = re.findall(r"[\"']([\w-]+)[\"']", remedy or "")
        named = [
            [(one, option) for option in quoted if option in one.options]
            for one in self.inputs
            if one.path[-1] in (remedy or "")
        ]
        found = []
        for chosen in product(*filter(None, named)):
            words = ", ".join(f"{one.label}: {one.option_label(option)}" for one, option in chosen)
            changed = {one.name: [option] for one, option in chosen}
            query = urlencode({"kind": self.kind, **fields, **changed}, doseq=True)
            found.append((words, query))
        return found


def _texts(value: Any) -> list[str]:
    if isinstance(value, bool) or value is None:
        return ["on" if value else ""]
    if isinstance(value, list):
        return [str(one) for one in value]
    return [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)]


@cache
def job_forms() -> Mapping[str, JobForm]:
    """Return the form of every kind of job, by the kind's name."""
    found = {}
    for kind in JOB_KINDS.values():
        spec: type[BaseModel] = kind.spec
        schema = spec.model_json_schema()
        name = str(schema["properties"]["kind"]["const"])
        about = (inspect.getdoc(spec) or "").partition("\n\n")[0]
        found[name] = JobForm(name, about, inputs_of(schema), kind)
    return dict(sorted(found.items()))


def form_of(kind: str) -> JobForm:
    """Return the form of a kind of job. Raises OptionError."""
    if kind not in job_forms():
        raise OptionError(
            "This kind of job is unknown.", where="kind", remedy=f"Use one of {list(job_forms())}."
        )
    return job_forms()[kind]


def variables_of(session: Session, study: str, form: JobForm) -> list[tuple[str, str]]:
    """Return the variables that this kind of job can use, each with its owner."""
    rows = releases_in_use(session, study, form.of.release_kind)
    kind = KINDS[form.of.release_kind]
    return [(name, owner) for owner, row in rows.items() for name in kind.columns(content_of(row))]
