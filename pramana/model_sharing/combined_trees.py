"""`pm.combine_trees`: several owners' trees in, one model out, as an estimator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, ValidationError

from pramana.estimators.base import Estimator, sklearn_tags
from pramana.estimators.saved import LearnedFrom, plain
from pramana.frames.randomness import Rng, generator_of
from pramana.frames.sentences import one_sentence, options_told, warn_caller
from pramana.frames.tables import shown
from pramana.model_sharing.classifying import ClassTeller
from pramana.model_sharing.messages import contents_of
from pramana.reporting.estimating import EstimatedCounts
from pramana.showing import card
from pramana.showing import plain_text as plain_html
from pramana_core.errors import InputError, OptionError, TableError
from pramana_core.learn.common.documents import DocumentPart, faults, write_json
from pramana_core.mixed import CategoricalColumn, MixedTable
from pramana_core.model_sharing.combine_options import CombineOptions, GlobalName, Method
from pramana_core.model_sharing.exchange.documents import model_json, read_model_json
from pramana_core.model_sharing.exchange.drawing import draw_model
from pramana_core.model_sharing.exchange.text import write_model_text
from pramana_core.model_sharing.global_models.combining import combine, pseudo_chunks, together
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.pictures.svg import Layout
from pramana_core.privacy import Amplification
from pramana_core.progress import Progress
from pramana_core.terminal import progress_bar

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.utils import Tags


_LARGEST = 700.0
"""Beyond it the amplification is no floating-point number."""


def source_of(records: int, epsilon: float, method: str) -> LearnedFrom:
    """Return what trees were learned from: different people's records, each bounded by epsilon."""
    gamma = math.exp(epsilon) if epsilon < _LARGEST else math.inf
    return LearnedFrom(records=records, gamma=gamma, epsilon=epsilon, estimated_by=method)


class SavedTrees(DocumentPart):
    """What is saved of combined trees: the model, and what it was made of."""

    model: dict[str, Any]
    trees: int = Field(ge=1)
    pseudo_records: int = Field(ge=0)
    notes: list[str]


class CombinedTrees(ClassTeller, Estimator):
    """One model of the trees that several owners share; `pm.combine_trees` makes it in one line.

    It learns from trees of `pm.share_tree`, or from their messages in any form, and sees no record.

    Args:
        target: the class, if the trees have several; None if there is only one.
        owners: whose trees are used, at a miner; None for everybody's.
        method: `labelled` draws pseudo-records from the paths of each tree, labels them by the
            votes of all trees and learns `model` from them; `pgen` does not label them again
            (Sharkey et al. 2008); `basegen` draws them evenly, each labelled by one tree; `votes`
            adds up the class shares of the trees' leaves.
        model: what is learned from pseudo-records: `tree`, `naive-bayes`, `conjunctive`.
        pseudo_records: the number of pseudo-records; None for as many as the trees count.
        scale: a factor on the trees' counts, if no number is given.
        max_depth: the most questions on a path of a learned tree; None for any.
        min_leaf: the fewest pseudo-records of its leaves, or of a side of a rule.
        seed: the seed of the pseudo-records.

    Attributes:
        model_: the learned model.
        classes_: the labels of the classes, (classes,).
        feature_names_in_: the names of the attributes, (attributes,).
        n_trees_: the number of combined trees.
        n_pseudo_records_: the number of pseudo-records it was learned from; 0 for votes.
        notes_: what the reader of the model must know, in sentences.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("titanic")
        >>> trees = [pm.share_tree(people.iloc[k::2], "survived", 20) for k in (0, 1)]
        >>> model = pm.CombinedTrees(method="votes").fit(trees)
        >>> model.predict({"class": ["1st"], "age": ["adult"], "sex": ["female"]})
        array(['yes'], dtype=object)
        >>> round(model.score(people), 2)
        0.78
    """

    kind = "model-sharing"
    of_counts = False

    model_: GlobalModel
    n_trees_: int
    n_pseudo_records_: int
    notes_: tuple[str, ...]

    def __init__(
        self,
        target: str | None = None,
        *,
        owners: Sequence[str] | None = None,
        method: Method = CombineOptions.method,
        model: GlobalName = CombineOptions.model,
        pseudo_records: int | None = CombineOptions.pseudo_records,
        scale: float = CombineOptions.scale,
        max_depth: int | None = CombineOptions.max_depth,
        min_leaf: int = CombineOptions.min_leaf,
        seed: int = CombineOptions.seed,
    ):
        self.target = target
        self.owners = owners
        self.method = method
        self.model = model
        self.pseudo_records = pseudo_records
        self.scale = scale
        self.max_depth = max_depth
        self.min_leaf = min_leaf
        self.seed = seed

    def fit(self, messages: Any, y: None = None) -> Self:  # type: ignore[override]
        """Combine trees.

        Args:
            messages: a list of trees of `pm.share_tree`, of messages as dicts or JSON text, or of
                paths to files of them.
            y: nothing: the class is part of each tree.

        Returns:
            the estimator itself.

        Raises:
            InputError: the list is empty, or something in it is no such message.
            TableError: a file cannot be read.
            ModelError: nodes are no tree or break what is promised, or trees have different classes
                or attributes.
            DomainError: owners code the class or an attribute differently.
            LimitExceeded: trees are too large, or too many pseudo-records are asked for.
            OptionError: an option is out of its range.
            NotInstalled: a tree is to be learned, and scikit-learn is not installed.
        """
        if y is not None:
            raise OptionError("y must be left out: the class is part of each tree.", where="y")
        with one_sentence():
            options = self._options()
            read = [(content, content.require_promised()) for content in contents_of(messages)]
            kept = [one for one in read if self.target in (None, one[1].schema.target.name)]
            if not kept:
                raise InputError(f"messages has no tree of the class {self.target!r}.")
            with progress_bar("combining") as bar:
                combined = combine([tree for _, tree in kept], options, on_step=bar)
        for words in combined.notes[1:]:
            warn_caller(words)
        self.model_, self.notes_ = combined.model, combined.notes
        self.n_trees_, self.n_pseudo_records_ = len(kept), combined.pseudo_records
        bounds = [math.inf if one.epsilon is None else one.epsilon for one, _ in kept]
        self._set_source(source_of(round(combined.records), max(bounds), self.method))
        self._trees: tuple[SharedTree, ...] | None = tuple(tree for _, tree in kept)
        return self

    def pseudo_data(self) -> pd.DataFrame:
        """Return the pseudo-records that the model was learned from, the class last.

        Raises:
            OptionError: the method draws none, or the model was loaded without its trees.
        """
        _ = self._fitted
        trees = getattr(self, "_trees", None)
        if not self.n_pseudo_records_:
            raise OptionError(
                f"The method {self.method!r} draws no pseudo-data.", where="pseudo_data"
            )
        if trees is None:
            raise OptionError(
                "pseudo_data needs the trees, which are not here: the model was loaded, or made by"
                " a miner, who serves them as a file.",
                where="pseudo_data",
            )
        table = together(list(pseudo_chunks(trees, self._options())))
        return _records_frame(table)

    def to_text(self) -> str:
        """Return the model as text. Raises NotFitted."""
        return write_model_text(self._fitted)

    @property
    def n_features_in_(self) -> int:
        """How many attributes there are."""
        return len(self._fitted.schema.names)

    @property
    def _fitted(self) -> GlobalModel:
        self._require_fitted()
        return self.model_

    def _options(self) -> CombineOptions:
        """Return the options that have limits. Raises OptionError."""
        if self.target is not None and not isinstance(self.target, str):
            raise OptionError(
                f"target must be the name of a class or None, not {shown(self.target)}.",
                where="target",
            )
        given = self.get_params()
        return CombineOptions(**{f.name: plain(given[f.name]) for f in fields(CombineOptions)})

    def _learn(self, counts: EstimatedCounts, on_step: Progress) -> None:  # noqa: ARG002
        """Refuse counts: `fit` learns from trees."""
        raise TableError(
            "CombinedTrees learn from shared trees, not from counts.", where="messages"
        )

    @classmethod
    def document_of(cls, model: Any) -> dict[str, Any]:
        """Return what a miner answers of its model as `restore` takes it."""
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
            raise InputError(f"The document holds no combined trees: {faults(error)}.") from None
        self.model_ = read_model_json(write_json(saved.model))
        self.n_trees_, self.n_pseudo_records_ = saved.trees, saved.pseudo_records
        self.notes_ = tuple(saved.notes)
        self._trees = None

    def source_told(self) -> str:
        """Say what was combined, and what bounds the disclosure.

        Raises:
            NotFitted: nothing was combined.
        """
        self._require_fitted()
        trees = "1 shared tree" if self.n_trees_ == 1 else f"{self.n_trees_} shared trees"
        bound = (
            Amplification(self.epsilon_).told
            if math.isfinite(self.epsilon_)
            else "no bound on a record"
        )
        return f"{self.method} of {trees} that count {self.n_records_:,} records; {bound}"

    def _picture(self) -> Layout:
        with one_sentence():
            return draw_model(self._fitted)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        if not self.__sklearn_is_fitted__():
            return plain_html(repr(self))
        heading = f"{type(self).__name__}({self._options_told()})"
        facts = self._source_facts() + self._facts()
        if isinstance(self._fitted, SharedTree | VotesModel):
            return card(heading, facts, self._picture().svg())
        return card(heading, facts) + plain_html(self.to_text())

    def _facts(self) -> list[tuple[str, str]]:
        return [("note", words) for words in self.notes_]

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags."""
        return sklearn_tags("classifier")


def _records_frame(table: MixedTable) -> pd.DataFrame:
    """Return records as a frame with categorical columns."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for column in table.columns:
        if isinstance(column, CategoricalColumn):
            labels: Any = list(column.categories)
            columns[column.name] = pd.Categorical.from_codes(column.codes, labels)
        else:
            columns[column.name] = column.values
    return pd.DataFrame(columns)


@options_told
def combine_trees(
    messages: Any,
    method: Method = CombineOptions.method,
    model: GlobalName = CombineOptions.model,
    *,
    rng: Rng = None,
    **options: Any,
) -> CombinedTrees:
    """Combine the trees that several owners share to one model.

    Args:
        messages: as of `pm.CombinedTrees.fit`.
        method: as of `pm.CombinedTrees`.
        model: as of `pm.CombinedTrees`.
        rng: of the pseudo-records: None for fresh randomness, a seed, or a generator.
        options: further options of `pm.CombinedTrees`, such as `scale=5`.

    Returns:
        the fitted estimator, with `predict`, `predict_proba`, `score` and `pseudo_data`.

    Raises:
        OptionError: an unknown option, or one out of its range.
        Others: as of `pm.CombinedTrees.fit`.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("titanic")
        >>> trees = [pm.share_tree(people.iloc[k::2], "survived", 20) for k in (0, 1)]
        >>> model = pm.combine_trees(trees, method="labelled", rng=1)
        >>> round(model.score(people), 2)
        0.78
    """
    if "seed" in options:
        raise OptionError("seed must be left out: pass it as rng.", where="seed")
    generator = generator_of(rng)
    # A seed stays what it is, so that the estimator's options say it.
    seed = int(rng) if hasattr(rng, "__index__") else int(generator.integers(1 << 32))
    return CombinedTrees(method=method, model=model, seed=seed, **options).fit(messages)
