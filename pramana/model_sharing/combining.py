"""`pm.combine_trees`: several owners' trees in, one model out."""

from __future__ import annotations

from typing import Any

from pramana.frames.randomness import Rng, generator_of
from pramana.frames.sentences import options_told
from pramana.model_sharing.combined_trees import CombinedTrees
from pramana_core.errors import OptionError
from pramana_core.model_sharing.combination.combining import CombineOptions, Method
from pramana_core.model_sharing.global_models.options import GlobalName


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
