"""What several owners' trees say together, as an estimator.

Also here:

* `pm.combine_trees`: several owners' trees in, one model out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from pramana.estimators.base import Estimator
from pramana.frames.randomness import Rng, generator_of
from pramana.frames.sentences import one_sentence, options_told, warn_caller
from pramana.frames.tables import shown
from pramana.model_sharing.columns import (
    ClassTeller,
    SavedTrees,
    combine_options,
    contents_of,
    records_frame,
    source_of,
)
from pramana.reporting.estimating import EstimatedCounts
from pramana.showing import card
from pramana.showing import plain_text as plain_html
from pramana_core.errors import InputError, OptionError, TableError
from pramana_core.learn.common.documents import write_json
from pramana_core.model_sharing.exchange.documents import model_json, read_model_json
from pramana_core.model_sharing.exchange.drawing import draw_model
from pramana_core.model_sharing.exchange.text import write_model_text
from pramana_core.model_sharing.generating import Absent, GenerationOptions, Misses, Numeric, Spread
from pramana_core.model_sharing.global_models.combining import (
    CombinedModel,
    CombineOptions,
    Method,
    combine,
    pseudo_chunks,
)
from pramana_core.model_sharing.global_models.learning import GlobalName, GlobalOptions
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.global_models.votes import Labels, VoteOptions, Weights, together
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.pictures.svg import Layout
from pramana_core.privacy.amplification import Amplification
from pramana_core.progress import Progress
from pramana_core.terminal import progress_bar
from pramana_core.wire.release_kinds import SharedTreeMessage

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.utils import Tags


class CombinedTrees(ClassTeller, Estimator):
    """One model of the trees that several owners share; `pm.combine_trees` makes it in one line.

    It learns from what `pm.share_tree` made, or from its messages, wherever they were kept. None of
    the methods sees a record.

    Args:
        target: the class, where there are trees of several; None if there is only one.
        owners: whose trees are used, at a miner; None for everybody's.
        method: `labelled` draws pseudo-records from the paths of each tree, has the votes of all
            trees label them and learns `model` from them; `pgen` does not label them anew
            (Sharkey et al. 2008); `basegen` draws them evenly, labelled each by one of the trees;
            `votes` adds up the class shares of the trees' leaves; `product` is one tree that says
            the same.
        model: what is learned from pseudo-records: `tree`, `naive-bayes`, `forest`, `conjunctive`.
        pseudo_records: how many are drawn in all; None for as many as the trees count.
        scale: what the trees' counts are multiplied by, where no number is given.
        numeric: which number an interval gives: one drawn evenly (`uniform`), its `middle`, its
            upper `end`, or one by the tree's own estimate of its distribution (`marginal`); None
            for `marginal` if `labelled`, else `uniform`.
        absent: which value an attribute takes that a path does not ask for: `uniform` or
            `marginal`; None as for `numeric`.
        misses: which classes misses take where leaves tell hits alone: `uniform` (also None) or
            `marginal`.
        spread: whether values are drawn `independent`ly, or more `even`ly than by chance; None
            for `even` if `labelled`, else `independent`.
        labels: of `labelled`, the `likeliest` class or one `drawn` by its probability.
        weights: how a leaf counts in votes: as in every tree (`equal`), or by the `records` of the
            whole tree or of the leaf (`leaves`).
        smoothing: how many records, spread evenly over the classes, are added to each leaf.
        product_leaves: the most leaves of a `product`.
        max_depth: the most questions on a path of a learned tree; None for any.
        min_leaf: the fewest pseudo-records of its leaves.
        confidence: what a learned `tree` is cut back by where its splits tell no more than chance
            (C4.5's pruning): the smaller, the more is cut; None for not at all.
        trees: how many trees a `forest` has.
        most_leaves: the most leaves of each of them.
        alpha: what `naive-bayes` adds to each count.
        held_out: the share of the pseudo-records that a `conjunctive` rule is pruned by.
        seed: decides all that is drawn.

    Attributes:
        model_: what was learned, as the packages below have it.
        classes_: the classes' labels, (classes,).
        feature_names_in_: the names of the attributes, (attributes,).
        n_trees_: how many trees were combined.
        n_pseudo_records_: how many pseudo-records it was learned from; 0 where it was from none.
        notes_: what the reader of the model must know, a sentence each.

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
        pseudo_records: int | None = GenerationOptions.records,
        scale: float = GenerationOptions.scale,
        numeric: Numeric | None = None,
        absent: Absent | None = None,
        misses: Misses | None = None,
        spread: Spread | None = None,
        labels: Labels = CombineOptions.labels,
        weights: Weights = VoteOptions.weights,
        smoothing: float = VoteOptions.smoothing,
        product_leaves: int = CombineOptions.most_leaves,
        max_depth: int | None = GlobalOptions.max_depth,
        min_leaf: int = GlobalOptions.min_leaf,
        confidence: float | None = GlobalOptions.confidence,
        trees: int = GlobalOptions.trees,
        most_leaves: int = GlobalOptions.most_leaves,
        alpha: float = GlobalOptions.alpha,
        held_out: float = GlobalOptions.held_out,
        seed: int = CombineOptions.seed,
    ):
        self.target = target
        self.owners = owners
        self.method = method
        self.model = model
        self.pseudo_records = pseudo_records
        self.scale = scale
        self.numeric = numeric
        self.absent = absent
        self.misses = misses
        self.spread = spread
        self.labels = labels
        self.weights = weights
        self.smoothing = smoothing
        self.product_leaves = product_leaves
        self.max_depth = max_depth
        self.min_leaf = min_leaf
        self.confidence = confidence
        self.trees = trees
        self.most_leaves = most_leaves
        self.alpha = alpha
        self.held_out = held_out
        self.seed = seed

    def fit(self, messages: Any, y: None = None) -> Self:  # type: ignore[override]
        """Combine trees.

        Args:
            messages: a list of what `pm.share_tree` made, of messages as dicts or as JSON text, or
                of paths to files of them.
            y: nothing: the class is part of each tree.

        Returns:
            the estimator itself.

        Raises:
            InputError: the list is empty, or holds something that is not such a message.
            TableUnreadable: there is no such file.
            ModelError: paths are not those of a tree or do not keep what is promised, or trees tell
                different classes or ask for different attributes.
            DomainError: owners code the class or an attribute differently.
            LimitExceeded: trees are too large, or more would be drawn than is sensible.
            OptionError: an option is out of its range.
            NotInstalled: a tree or a forest is to be learned, and scikit-learn is not installed.

        Examples:
            >>> import pramana as pm
            >>> people = pm.example("titanic")
            >>> trees = [pm.share_tree(people.iloc[k::2], "survived", 20) for k in (0, 1)]
            >>> messages = [tree.message for tree in trees]
            >>> model = pm.CombinedTrees(method="labelled", seed=1).fit(messages)
            >>> model.n_trees_, model.n_pseudo_records_
            (2, 2201)
        """
        if y is not None:
            raise OptionError("y must be left out: the class is part of each tree.", where="y")
        with one_sentence():
            options = self._options()
            contents = contents_of(messages)
            trees = [content.require_promised() for content in contents]
            kept = [
                (content, tree)
                for content, tree in zip(contents, trees, strict=True)
                if self.target in (None, tree.schema.target.name)
            ]
            if not kept:
                raise InputError(f"messages has no tree of the class {self.target!r}.")
            with progress_bar("combining") as bar:
                combined = combine([tree for _, tree in kept], options, on_step=bar)
        for words in combined.notes[1:]:
            warn_caller(words)
        self._combined(combined, [content for content, _ in kept])
        self._trees: tuple[SharedTree, ...] | None = tuple(tree for _, tree in kept)
        return self

    def pseudo_data(self) -> pd.DataFrame:
        """Return the pseudo-records that the model was learned from, the class last.

        They are drawn again from the trees, by the same seed: the same records.

        Raises:
            OptionError: the method draws none, or the model was loaded and its trees are not here.
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
        return records_frame(table)

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
        return combine_options(self.get_params())

    def _combined(self, made: CombinedModel, contents: list[SharedTreeMessage]) -> None:
        self.model_ = made.model
        self.n_trees_, self.n_pseudo_records_ = len(made.owners), made.pseudo_records
        self.notes_ = made.notes
        bounds = [math.inf if one.epsilon is None else one.epsilon for one in contents]
        self._set_source(source_of(round(made.records), max(bounds), self.method))

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
        saved = SavedTrees.of(document)
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
        return draw_model(self._fitted)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        if not self.__sklearn_is_fitted__():
            return plain_html(repr(self))
        heading = f"{type(self).__name__}({self._options_told()})"
        return card(heading, self._learned_from() + self._facts(), self._picture().svg())

    def _facts(self) -> list[tuple[str, str]]:
        return [("note", words) for words in self.notes_]

    def __sklearn_tags__(self) -> Tags:
        """Say to scikit-learn what this is: a classifier of numbers, text and categories."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=False),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(string=True, categorical=True),
            requires_fit=True,
        )


# `pm.combine_trees`: several owners' trees in, one model out.


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
        messages: a list of what `pm.share_tree` made, of messages as dicts or as JSON text, or of
            paths to files of them.
        method: `labelled`, `pgen` and `basegen` learn from pseudo-records drawn from the trees;
            `votes` and `product` are the trees themselves (see `pm.CombinedTrees`).
        model: what is learned from pseudo-records: `tree`, `naive-bayes`, `forest`, `conjunctive`.
        rng: of the pseudo-records: None for fresh randomness, a seed, or a generator.
        options: those of `pm.CombinedTrees`, such as `scale=5`.

    Returns:
        the fitted estimator, with `predict`, `predict_proba`, `score` and `pseudo_data`.

    Raises:
        InputError: there are no trees, or one is no message.
        TableUnreadable: there is no such file.
        ModelError: a message is no tree or breaks its promise, or trees do not fit together.
        LimitExceeded: trees are too large, or more would be drawn than is sensible.
        OptionError: an unknown option, or one out of its range.
        NotInstalled: a tree or a forest is to be learned, and scikit-learn is not installed.

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
