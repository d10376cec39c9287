"""Saving and loading of plans, domains, reports and models, without pickle."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pramana.estimators.base import Estimator, estimators
from pramana.estimators.saved import FORMAT as MODEL
from pramana.estimators.saved import LearnedFrom
from pramana.frames.sentences import checked_options, one_sentence, quoted
from pramana.frames.tables import shown
from pramana.model_sharing.messages import KIND as SHARED
from pramana.model_sharing.sharing import SharedModel
from pramana.reporting.files import require_path, require_version, write_whole
from pramana.reporting.reports import Reports
from pramana_core.domain import Domain
from pramana_core.errors import InputError, StoreCorrupt, TableError
from pramana_core.learn.common.documents import faults, parse_json, variable_json, write_json
from pramana_core.plan import Plan
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.base import Message
from pramana_core.wire.channels import PlanMessage, VariableMessage
from pramana_core.wire.study_plans import StudyPlanMessage

FORMAT = "pramana"
VERSION = 1

_WANTED = "a plan, a study plan, a domain, reports, a shared tree or a fitted estimator"
_PARQUET, _PICKLE, _ZIP = b"PAR1", b"\x80", b"PK"


@checked_options
def save(
    thing: Plan | StudyPlan | Domain | Reports | SharedModel | Estimator,
    path: str | Path,
) -> None:
    """Write a plan, a study plan, a domain, reports, a shared tree or an estimator to a file.

    Reports are written as Parquet, all other objects as JSON with the version of the format and,
    for plans, their digest. Keys are not saved: they stay in the folder of `pm.Keys.create`.

    Args:
        thing: the object to save.
        path: the file; an existing one is replaced.

    Raises:
        InputError, NotFitted, OptionError: `thing` cannot be saved, or `path` cannot be written.

    Examples:
        >>> import pramana as pm, tempfile
        >>> plan = pm.plan(pm.Domain.of(sex=["f", "m"]), p=0.1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pm.save(plan, f"{folder}/plan.json")
        ...     pm.load(f"{folder}/plan.json") == plan
        True
    """
    require_path(path)
    if isinstance(thing, Reports | SharedModel | Estimator):
        thing.save(path)
        return
    if isinstance(thing, Plan):
        text = _written("plan", thing.as_dict(), thing.digest)
    elif isinstance(thing, StudyPlan):
        text = _written("study-plan", thing.as_dict(), thing.digest)
    elif isinstance(thing, Domain):
        text = _written("domain", {"variables": [variable_json(v) for v in thing]}, None)
    else:
        raise InputError(f"thing must be {_WANTED}, not {shown(thing)}.", where="thing")
    write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))


@checked_options
def load(path: str | Path) -> Any:
    """Read a file that `pm.save` wrote, or a plan or a model that a service wrote.

    Services write plans and study plans as JSON, models that the miner serves, and `tree.json`,
    `linear.json`, `bayes.json` and `network.json` of a joint session. Models of services do not
    include their plans, so `epsilon_` is infinite (no known bound) and `plan_digests_` is empty.

    Args:
        path: the file.

    Returns:
        a `Plan`, a `StudyPlan`, a `Domain`, `Reports`, a `SharedModel`, or a fitted estimator.

    Raises:
        TableError: the file is missing, of another kind, or of a later version.
        StoreCorrupt: the file was changed after it was saved.
        InputError: a part of a plan or a model is invalid.

    Examples:
        >>> import pramana as pm, tempfile
        >>> people = pm.example("titanic")
        >>> domain = pm.domain(people, pm.observed_categories(people))
        >>> tree = pm.DecisionTree("survived").fit(people, pm.Plan.unrandomized(domain))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pm.save(tree, f"{folder}/tree.json")
        ...     loaded = pm.load(f"{folder}/tree.json")
        >>> loaded.score(people) == tree.score(people)
        True
    """
    place = require_path(path)
    if not place.is_file():
        raise TableError(f"path {str(place)!r} must be a file that exists.", where="path")
    content = place.read_bytes()
    if content.startswith(_PARQUET):
        return Reports.load(place)
    document = _parsed(content, place)
    if document.get("format") == MODEL:
        require_version(document.get("version"), VERSION, place)
        return Estimator.from_document(document, f"path {str(place)!r}")
    if document.get("kind") == SHARED:
        return SharedModel.from_json(content.decode("utf-8"))
    if document.get("format") == FORMAT:
        return _own(document, place)
    if "blocks" in document:
        return _read("plan", document, place)
    if "owners" in document and "sets" in document:
        return _read("study-plan", document, place)
    if isinstance(document.get("kind"), str):
        return _bare_model(document, place)
    raise _none_of_these(place, "it contains other JSON")


def _written(kind: str, content: Mapping[str, Any], digest: str | None) -> str:
    head = {} if digest is None else {"digest": digest}
    return write_json(
        {"format": FORMAT, "version": VERSION, "kind": kind, **head, "content": content}
    )


def _parsed(content: bytes, place: Path) -> dict[str, Any]:
    if content.startswith(_PICKLE):
        raise _none_of_these(
            place, "it is a pickle, which could run any program and so is not opened"
        )
    if content.startswith(_ZIP):
        raise _none_of_these(place, "it is an archive")
    try:
        document = parse_json(content)
    except ValueError:
        raise _none_of_these(place, "it is neither JSON nor Parquet") from None
    if not isinstance(document, dict):
        raise _none_of_these(place, "it contains other JSON")
    return document


def _own(document: Mapping[str, Any], place: Path) -> Plan | StudyPlan | Domain:
    """Return an object that `save` wrote, after checking the digest of a plan."""
    require_version(document.get("version"), VERSION, place)
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in _READERS:
        raise _none_of_these(
            place, f"it contains a {quoted([kind])}, which this version does not support"
        )
    found: Plan | StudyPlan | Domain = _read(kind, document.get("content"), place)
    if not isinstance(found, Domain) and found.digest != document.get("digest"):
        raise StoreCorrupt(
            f"path {str(place)!r} was changed or damaged after it was saved: its plan does not"
            " match the digest in the file.",
            where="path",
        )
    return found


class _DomainMessage(Message):
    variables: list[VariableMessage]

    def to_domain(self) -> Domain:
        return Domain(tuple(variable.to_variable() for variable in self.variables))


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "plan": lambda content: PlanMessage.model_validate(content).to_plan(),
    "study-plan": lambda content: StudyPlanMessage.model_validate(content).to_plan(),
    "domain": lambda content: _DomainMessage.model_validate(content).to_domain(),
}


def _read(kind: str, content: object, place: Path) -> Any:
    with one_sentence(f"path {str(place)!r}"):
        try:
            return _READERS[kind](content)
        except ValidationError as error:
            raise TableError(f"it is not a {kind}: {faults(error)}.", where=str(place)) from None


def _bare_model(document: Mapping[str, Any], place: Path) -> Estimator:
    kind = document["kind"]
    known = [found for found in estimators() if found.kind == kind]
    if not known:
        kinds = ", ".join(sorted({found.kind for found in estimators()}))
        raise _none_of_these(
            place, f"it is a {quoted([kind])}, which is not one of the kinds of models: {kinds}"
        )
    inner = document.get("document")
    model = inner if isinstance(inner, Mapping) else document
    records = document.get("records", 0)
    source = LearnedFrom(
        records=records if isinstance(records, int) else 0, estimated_by="an unknown estimator"
    )
    with one_sentence(f"path {str(place)!r}"):
        try:
            return known[0](**_options(known[0], model)).restore(model, source)
        except (TypeError, KeyError, AttributeError):
            raise InputError(f"its {quoted([kind])} cannot be read.", where="path") from None


def _options(found: type[Estimator], model: Mapping[str, Any]) -> dict[str, Any]:
    options = model.get("options")
    given = dict(options) if isinstance(options, Mapping) else {}
    target, inputs = model.get("target"), model.get("inputs")
    if isinstance(target, Mapping):
        given["target"] = target.get("name")
    if isinstance(inputs, list):
        given["features"] = [one["name"] for one in inputs if isinstance(one, Mapping)]
    known = inspect.signature(found).parameters
    return {name: value for name, value in given.items() if name in known}


def _none_of_these(place: Path, why: str) -> TableError:
    return TableError(
        f"path {str(place)!r} must be a file that pm.save wrote; {why}.", where="path"
    )
