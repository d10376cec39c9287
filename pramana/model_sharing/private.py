"""Differentially private trees: what must be declared, and whose noise they have."""

from __future__ import annotations

from typing import Any

from owner_agent.model_sharing.noise import TreeNoise
from pramana.frames.randomness import Rng, generator_of
from pramana.frames.sentences import one_sentence, quoted
from pramana.frames.tables import Frame, shown
from pramana.model_sharing.columns import training_columns
from pramana.model_sharing.declared import undeclared
from pramana.model_sharing.shared_model import SharedModel
from pramana_core.errors import OptionError
from pramana_core.model_sharing.anonymity.requirements import Requirement
from pramana_core.model_sharing.core.attributes import TreeSchema
from pramana_core.model_sharing.exchange.documents import TreeDocument
from pramana_core.model_sharing.exchange.promises import protection_words
from pramana_core.model_sharing.private.growing import grow_private_tree
from pramana_core.model_sharing.private.noise import GeneratorNoise, Noise
from pramana_core.model_sharing.private.options import require_epsilon
from pramana_core.terminal import progress_bar
from pramana_core.wire.releases.knowledge import KnowledgeModelMessage


def private_model(
    frame: Frame, columns: tuple[Any, ...], asked: Requirement | None, epsilon: Any, rng: Rng
) -> SharedModel:
    """Return a private tree.

    Args:
        frame: the true records.
        columns: the target, the features, and what is declared: ranges, categories, taxonomies.
        asked: the requirement, which must be none.
        epsilon: the bound.
        rng: the randomness.

    Raises:
        OptionError: a requirement beside an epsilon, an epsilon out of its range, or columns that
            are not declared.
        NotInstalled: there is no randomness given, and OpenDP is not installed.
    """
    if asked is not None:
        raise OptionError(
            "requirement must be None where there is an epsilon: it bounds every record, whatever a"
            " path counts.",
            where="requirement",
        )
    number = isinstance(epsilon, int | float) and not isinstance(epsilon, bool)
    if not number:
        raise OptionError(
            f"epsilon must be a number above 0, not {shown(epsilon)}.", where="epsilon"
        )
    with one_sentence():
        require_epsilon(float(epsilon))
        noise = noise_of(rng)
    target, features, ranges, categories, taxonomies = columns
    # Whether all values are whole numbers is not told: one record may decide it.
    schema, table, classes = training_columns(
        frame, target, features, ranges, categories, taxonomies, whole=()
    )
    _require_declared(schema, ranges or {}, categories or {})
    with one_sentence(), progress_bar("growing a tree"):
        made = grow_private_tree(schema, table, classes, float(epsilon), noise)
    content = KnowledgeModelMessage(
        tree=TreeDocument.of(made.tree),
        counts="noised",
        epsilon=made.epsilon,
        protection=list(protection_words(None, schema.classes, made.epsilon)),
    )
    return SharedModel(made.tree, content)


def noise_of(rng: Rng) -> Noise:
    """Return what draws noise: OpenDP for releases, or for experiments the generator passed.

    Raises:
        NotInstalled: nothing is passed, and OpenDP is not installed.
        OptionError: it is no seed and no generator.
    """
    if rng is None:
        return TreeNoise()
    return GeneratorNoise(generator_of(rng))


def _require_declared(schema: TreeSchema, ranges: Any, categories: Any) -> None:
    if open_ones := undeclared(schema, ranges, categories):
        raise OptionError(
            f"epsilon needs ranges and categories to declare {quoted(open_ones)}: what is read from"
            " the records is not private.",
            where="categories",
        )
