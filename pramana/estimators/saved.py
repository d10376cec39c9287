"""The saved form of a fitted estimator: JSON with a version, its options, its source, its model.

    {"format": "pramana-model", "version": 1, "kind": "decision-tree", "estimator": "DecisionTree",
     "params": {...}, "learned_from": {"records", "plans", "gamma", "epsilon", "estimated_by"},
     "document": {...}}

`document` is the model as the packages below write it, which the miner's files and the owners'
tools read too. A gamma or an epsilon that is infinite, or beyond all numbers, is null.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from pramana.frames.sentences import quoted
from pramana_core.errors import InputError, OptionError
from pramana_core.learn.common.documents import DocumentPart, faults, parse_json
from pramana_core.privacy.amplification import Amplification

FORMAT = "pramana-model"
VERSION = 1

ROOMS = ("pramana.estimators", "pramana.model_sharing")
"""Where there are estimators; their modules are loaded when a model is read."""

_LONGEST = 40
"""So many letters are shown of a name that may be anything."""

_KNOWN: dict[str, type] = {}
"""The estimators whose modules are loaded, by their name."""


@dataclass(frozen=True)
class LearnedFrom:
    """What a model was learned from.

    Attributes:
        records: how many.
        plans: the digest of each source's plan.
        gamma: the amplification of one person's whole record, the largest of the sources.
        epsilon: its logarithm.
        estimated_by: what estimated the counts.
        lack_of_fit: a sentence for each model of the counts that the reports contradict.
        masking: how records were masked, in words; empty where they were not.
        filled_in: a sentence on counts that were made of smaller tables; empty where none were.
    """

    records: int
    plans: tuple[str, ...]
    gamma: float
    epsilon: float
    estimated_by: str
    lack_of_fit: tuple[str, ...] = ()
    masking: tuple[str, ...] = ()
    filled_in: str = ""

    @property
    def told(self) -> str:
        """What one person's whole record tells, in words."""
        return f"whole record: {Amplification(self.epsilon).told}"

    def written(self) -> dict[str, Any]:
        """Return it as JSON can say it; a lack of fit and a masking where there is one."""
        more = {"lack_of_fit": self.lack_of_fit, "masking": self.masking}
        return {
            "records": self.records,
            "plans": list(self.plans),
            "gamma": _finite(self.gamma),
            "epsilon": _finite(self.epsilon),
            "estimated_by": self.estimated_by,
            **{name: list(words) for name, words in more.items() if words},
            **({"filled_in": self.filled_in} if self.filled_in else {}),
        }


class _Source(DocumentPart):
    records: int = Field(ge=0)
    plans: list[str]
    gamma: float | None = Field(ge=1)
    epsilon: float | None = Field(ge=0)
    estimated_by: str
    lack_of_fit: list[str] = Field(default_factory=list)
    masking: list[str] = Field(default_factory=list)
    filled_in: str = ""

    def read(self) -> LearnedFrom:
        gamma = math.inf if self.gamma is None else self.gamma
        epsilon = math.inf if self.epsilon is None else self.epsilon
        facts = (tuple(self.plans), gamma, epsilon, self.estimated_by)
        more = (tuple(self.lack_of_fit), tuple(self.masking), self.filled_in)
        return LearnedFrom(self.records, *facts, *more)


class SavedModel(DocumentPart):
    """A saved model's parts, each of the right type."""

    format: Literal["pramana-model"]
    version: Literal[1]
    kind: str
    estimator: str
    params: dict[str, Any]
    learned_from: _Source
    document: dict[str, Any]

    @classmethod
    def of(cls, document: object, argument: str = "document") -> SavedModel:
        """Read a saved model. Raises InputError, in one sentence."""
        if not isinstance(document, Mapping) or document.get("format") != FORMAT:
            raise InputError(
                f"{argument} is not a saved model: it must be a JSON object whose format is"
                f" {FORMAT!r}, as `save` writes it.",
                where=argument,
            )
        if document.get("version") != VERSION:
            raise InputError(
                f"{argument} has version {quoted([document.get('version')])} of the saved form;"
                f" this release reads version {VERSION}.",
                where=argument,
            )
        try:
            return cls.model_validate(dict(document))
        except ValidationError as error:
            raise InputError(
                f"{argument} is not a saved model: {faults(error)}.", where=argument
            ) from None

    def estimator_class(self, argument: str = "document") -> type:
        """Return the class that saved it. Raises InputError for one that there is not."""
        load_estimators()
        known = _KNOWN.get(self.estimator)
        if known is None or getattr(known, "kind", None) != self.kind:
            raise InputError(
                f"{argument} holds a {self.estimator[:_LONGEST]} of the kind {quoted([self.kind])},"
                f" which this release does not have; it has {', '.join(sorted(_KNOWN))}.",
                where=argument,
            )
        return known

    def estimator_of(self, found: type[Any], argument: str = "document") -> Any:
        """Return the estimator with its options, unfitted. Raises InputError."""
        try:
            return found(**self.params)
        except (TypeError, OptionError) as error:
            said = str(error).removesuffix(".")
            raise InputError(
                f"{argument} has no options of a {self.estimator}: {said}.", where=argument
            ) from None


def load_estimators() -> None:
    """Load every estimator that there is."""
    for room in ROOMS:
        for module in pkgutil.iter_modules(importlib.import_module(room).__path__):
            importlib.import_module(f"{room}.{module.name}")


def register(estimator: type) -> None:
    """Let an estimator be found when its models are read; of one name, that of this package."""
    known = _KNOWN.get(estimator.__name__)
    if known is not None and known.__module__.startswith(ROOMS):
        return
    _KNOWN[estimator.__name__] = estimator


def parse(text: str, argument: str = "text") -> Any:
    """Return JSON text's content. Raises InputError."""
    try:
        return parse_json(text)
    except (ValueError, TypeError) as error:
        raise InputError(f"{argument} is not JSON: {error}.", where=argument) from None


def plain(option: Any) -> Any:
    """Return an option as JSON can say it: what is a sequence becomes a list."""
    if isinstance(option, np.generic):
        return option.item()
    if isinstance(option, Mapping):
        return {str(name): plain(value) for name, value in option.items()}
    if hasattr(option, "tolist"):
        return plain(option.tolist())
    if isinstance(option, list | tuple | set | frozenset):
        return [plain(value) for value in option]
    return option


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
