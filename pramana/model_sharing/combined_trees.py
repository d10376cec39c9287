"""`pm.combine_trees` and its estimator, which learns one model from several owners' trees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, fields
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, ValidationError

from pramana.estimators.base import Estimator, estimator, sklearn_tags
from pramana.estimators.saved import LearnedFrom, plain
from pramana.frames.randomness import Rng, generator_of
from pramana.frames.sentences import checked_options, one_sentence, warn_caller
from pramana.frames.tables import shown
from pramana.model_sharing.classifying import TreePredictor
from pramana.model_sharing.messages import contents_of
from pramana.reporting.estimating import EstimatedCounts
from pramana_core.errors import InputError, ModelError, OptionError, TableError
from pramana_core.learn.common.documents import DocumentPart, faults, write_json
from pramana_core.model_sharing.combine_options import CombineOptions, GlobalName, Method
from pramana_core.model_sharing.exchange.documents import model_json, read_model_json
from pramana_core.model_sharing.exchange.drawing import draw_shared_tree
from pramana_core.model_sharing.exchange.text import write_model_text
from pramana_core.model_sharing.global_models.combining import combine
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.pictures.svg import Layout
from pramana_core.privacy import Amplification
from pramana_core.progress import Progress
from pramana_core.terminal import progress_bar

if TYPE_CHECKING:
    from sklearn.utils import Tags


_LARGEST = 700.0
"""The largest epsilon whose amplification is a finite floating-point number."""


def source_of(records: int, epsilon: float, method: str) -> LearnedFrom:
    """Return the description of trees of different people; `epsilon` bounds each tree."""
    gamma = math.exp(epsilon) if epsilon < _LARGEST else math.inf
    return LearnedFrom(records=records, gamma=gamma, epsilon=epsilon, estimated_by=method)


class SavedTrees(DocumentPart):
    """The saved form of combined trees."""

    model: dict[str, Any]
    trees: int = Field(ge=1)
    pseudo_records: int = Field(ge=0)
    notes: list[str]


@estimator
class CombinedTrees(TreePredictor, Estimator):
    """One model learned from the shared trees of several owners; see `pm.combine_trees`.

    The input consists of trees of `pm.share_tree`, or their messages in any form, not of records.

    Args:
        target: the class column, if the trees predict different columns; None if all predict the
            same.
        owners: at a miner, the owners whose trees are used; None for all.
        method: `labelled` draws pseudo-records from the paths of each tree, labels them by the
            votes of all trees and learns `model` from them; `pgen` keeps the path's label (Sharkey
            et al. 2008); `basegen` draws pseudo-records uniformly, each labelled by one tree;
            `votes` adds up the class shares of the trees' leaves.
        model: the model to learn from pseudo-records: `tree`, `naive-bayes`, `conjunctive`.
        pseudo_records: the count of pseudo-records; None for the count of records in the trees.
        scale: a factor on the trees' counts, if `pseudo_records` is None.
        max_depth: the maximum number of splits on a path of a learned tree; None for no limit.
        min_leaf: the smallest count of pseudo-records in a leaf, or on one side of a rule.
        seed: the seed of the pseudo-records.

    Attributes:
        model_: the learned model.
        n_trees_: the count of combined trees.
        n_pseudo_records_: the count of pseudo-records that `model_` was learned from; 0 for votes.
        notes_: notes on how to read the model, in sentences.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("titanic")
        >>> trees = [pm.share_tree(people.iloc[k::2], "survived", 20) for k in (0, 1)]
        >>> model = pm.CombinedTrees(method="votes").fit(trees)
        >>> round(model.score(people), 2)
        0.78
    """

    kind = "model-sharing"

    target: str | None = None
    _: KW_ONLY
    owners: Sequence[str] | None = None
    method: Method = CombineOptions.method
    model: GlobalName = CombineOptions.model
    pseudo_records: int | None = CombineOptions.pseudo_records
    scale: float = CombineOptions.scale
    max_depth: int | None = CombineOptions.max_depth
    min_leaf: int = CombineOptions.min_leaf
    seed: int = CombineOptions.seed

    def fit(self, messages: Any, y: None = None) -> Self:  # type: ignore[override]
        """Combine trees.

        Args:
            messages: a list of trees of `pm.share_tree`, of their messages as dicts or JSON text,
                or of paths to such files.
            y: not used; the class is part of each tree.

        Raises InputError, TableError, ModelError, DomainError, LimitExceeded, OptionError,
        NotInstalled.
        """
        if y is not None:
            raise OptionError("y must be omitted: the class is part of each tree.", where="y")
        with one_sentence():
            options = self._options()
            read = [(content, content.require_promised()) for content in contents_of(messages)]
            kept = [one for one in read if self.target in (None, one[1].schema.target.name)]
            if not kept:
                raise InputError(
                    f"The argument messages contains no tree for the class {self.target!r}."
                )
            with progress_bar("combining") as bar:
                combined = combine([tree for _, tree in kept], options, on_step=bar)
        for words in combined.notes[1:]:
            warn_caller(words)
        self.model_: GlobalModel = combined.model
        self.notes_: tuple[str, ...] = combined.notes
        self.n_trees_, self.n_pseudo_records_ = len(kept), combined.pseudo_records
        bounds = [math.inf if one.epsilon is None else one.epsilon for one, _ in kept]
        self._set_source(source_of(round(combined.records), max(bounds), self.method))
        return self

    def to_text(self) -> str:
        """Return the model as text. Raises NotFitted."""
        return write_model_text(self._fitted)

    @property
    def n_features_in_(self) -> int:
        """The count of attributes."""
        return len(self._fitted.schema.names)

    @property
    def _fitted(self) -> GlobalModel:
        self._require_fitted()
        return self.model_

    def _options(self) -> CombineOptions:
        if self.target is not None and not isinstance(self.target, str):
            raise OptionError(
                f"target must be the name of a class or None, not {shown(self.target)}.",
                where="target",
            )
        given = self.get_params()
        return CombineOptions(**{f.name: plain(given[f.name]) for f in fields(CombineOptions)})

    def _learn(self, counts: EstimatedCounts, on_step: Progress) -> None:  # noqa: ARG002
        """Raise an error, since combined trees learn from trees and not from counts."""
        raise TableError(
            "CombinedTrees learns from trees, not from counts; call fit with a list of trees.",
            where="messages",
        )

    @classmethod
    def document_of(cls, model: Any) -> dict[str, Any]:
        """Return a miner's model in the form that `restore` reads."""
        return {
            "model": model.document,
            "trees": len(model.trees),
            "pseudo_records": model.pseudo_records,
            "notes": model.notes,
        }

    def _document(self) -> dict[str, Any]:
        return {
            "model": model_json(self._fitted),
            "trees": self.n_trees_,
            "pseudo_records": self.n_pseudo_records_,
            "notes": list(self.notes_),
        }

    def _take(self, document: Mapping[str, Any]) -> None:
        try:
            saved = SavedTrees.model_validate(dict(document))
        except ValidationError as error:
            raise InputError(f"The document contains no combined trees: {faults(error)}.") from None
        self.model_ = read_model_json(write_json(saved.model))
        self.n_trees_, self.n_pseudo_records_ = saved.trees, saved.pseudo_records
        self.notes_ = tuple(saved.notes)

    def describe_source(self) -> str:
        """Describe the source: the trees, their records and the bound. Raises NotFitted."""
        self._require_fitted()
        trees = "1 shared tree" if self.n_trees_ == 1 else f"{self.n_trees_} shared trees"
        bound = (
            Amplification(self.epsilon_).told
            if math.isfinite(self.epsilon_)
            else "no bound on a record"
        )
        return f"{self.method} of {trees} that count {self.n_records_:,} records; {bound}"

    def _picture(self) -> Layout:
        if not isinstance(self._fitted, SharedTree):
            raise ModelError(
                f"A model of kind {self._fitted.kind!r} has no picture; use to_text().",
                where="model",
            )
        return draw_shared_tree(self._fitted)

    def _repr_html_(self) -> str | None:
        drawn = isinstance(getattr(self, "model_", None), SharedTree)
        return super()._repr_html_() if drawn else None

    def _numbers(self) -> None:
        return None

    def __sklearn_tags__(self) -> Tags:
        return sklearn_tags("classifier")


@checked_options
def combine_trees(
    messages: Any,
    method: Method = CombineOptions.method,
    model: GlobalName = CombineOptions.model,
    *,
    rng: Rng = None,
    **options: Any,
) -> CombinedTrees:
    """Learn one model from the trees that several owners share.

    Args:
        messages: see `pm.CombinedTrees.fit`.
        method: see `pm.CombinedTrees`.
        model: see `pm.CombinedTrees`.
        rng: the randomness of pseudo-records: None for fresh randomness, a seed, or a generator.
        options: further options of `pm.CombinedTrees`, such as `scale=5`.

    Returns:
        the fitted estimator, with `predict`, `predict_proba` and `score`.

    Raises:
        OptionError: an option is unknown or out of range.
        Others: see `pm.CombinedTrees.fit`.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("titanic")
        >>> trees = [pm.share_tree(people.iloc[k::2], "survived", 20) for k in (0, 1)]
        >>> model = pm.combine_trees(trees, method="labelled", rng=1)
        >>> round(model.score(people), 2)
        0.78
    """
    if "seed" in options:
        raise OptionError("seed must be omitted: pass the seed as rng.", where="seed")
    generator = generator_of(rng)
    # A seed is passed on unchanged, so that the estimator's options show it.
    seed = int(rng) if hasattr(rng, "__index__") else int(generator.integers(1 << 32))
    return CombinedTrees(method=method, model=model, seed=seed, **options).fit(messages)
