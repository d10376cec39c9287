"""`pm.share_tree`: a frame in, a tree that may leave out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, Literal

from pramana.estimators.saved import plain
from pramana.frames.randomness import Rng
from pramana.frames.sentences import one_sentence, options_told
from pramana.frames.tables import Frame, shown
from pramana.model_sharing.columns import training_columns
from pramana.model_sharing.declared import undeclared
from pramana.model_sharing.private import private_model
from pramana.model_sharing.requirements import NOT_GIVEN, requirement_of
from pramana.model_sharing.shared_model import SharedModel
from pramana_core.errors import OptionError
from pramana_core.model_sharing.anonymity.pruning import Pruned, PruningOptions, prune
from pramana_core.model_sharing.anonymity.released import TELLS, released_form
from pramana_core.model_sharing.anonymity.requirements import Requirement
from pramana_core.model_sharing.core.tree import SharedTree
from pramana_core.model_sharing.exchange.documents import TreeDocument
from pramana_core.model_sharing.exchange.promises import promised, protection_words, read_words
from pramana_core.model_sharing.growing.growing import GrowthOptions, grow_tree
from pramana_core.terminal import progress_bar
from pramana_core.wire.releases.knowledge import KnowledgeModelMessage, RequirementMessage


@options_told
def share_tree(
    frame: Frame,
    target: str,
    requirement: Requirement | Mapping[str, Any] | int | str | None = NOT_GIVEN,  # type: ignore[assignment]
    *,
    features: str | Sequence[str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    taxonomies: Mapping[str, Any] | None = None,
    by: Literal["growing", "pruning"] = "growing",
    merge: Literal["all", "taxonomy", "fewest"] | None = None,
    least_gain: float | None = None,
    tell: Literal["hits", "distribution"] = "hits",
    criterion: Literal["entropy", "gini"] = "entropy",
    max_depth: int | None = None,
    min_leaf: int = 1,
    epsilon: float | None = None,
    rng: Rng = None,
) -> SharedModel:
    """Learn a decision tree that may leave in place of the records.

    Each path meets the requirement (Sharkey et al. 2008, section 3). That is anonymity, not a
    bound: k-anonymity and (c, l)-diversity bound nothing about one record against someone who knows
    others. Only `epsilon` bounds what a tree tells of a record (the guide `docs/model-sharing.md`
    says what is protected and what is not).

    Args:
        frame: the true records, n rows without missing cells.
        target: the column that holds the class: categories, or at most 50 whole numbers.
        requirement: what each path must meet: `pm.Requirement(k=5)`, at least five records;
            `pm.Requirement(c=10, l=3)`, whose most frequent class has less than ten times the
            records of the third and all rarer ones; a number is k. None, written out, prunes
            nothing: then paths tell single people's classes.
        features: the columns that may be asked for; by default all others. Columns that identify
            people are refused.
        ranges: the least and the greatest number of columns, by name. Of others a range is rounded
            outward from inner values, never a person's extreme.
        categories: all labels of columns, by name; of others those that occur, which tells that
            somebody has them.
        taxonomies: which categories belong together, by column: nested dicts of lists, or for each
            category a list of its ancestors, the nearest first; for `merge="taxonomy"`.
        by: `growing` makes only splits whose parts all meet the requirement; `pruning` grows the
            tree as far as it goes and cuts it back, as in the paper, which often leaves less, and
            of (c, l) often nothing.
        merge: by pruning, what a path that does not meet it is merged with: `all` its siblings (by
            default), those of one `taxonomy` group, or the `fewest` that suffice.
        least_gain: by pruning, how many records more each path of a split must tell rightly than
            the split's paths would as one, or they are made one; with (c, l) try 3. None cuts
            nothing for this, as in the paper.
        tell: what leaves tell: `hits` and misses, as in the paper, or the `distribution` of all
            classes, which is more useful, and tells which classes a path has not.
        criterion: what a split lowers.
        max_depth: the most questions on a path; None for any.
        min_leaf: the fewest records of a leaf before pruning.
        epsilon: with it the tree is differentially private, splits and counts, for the replacement
            of one record by any other; ranges and categories must then be declared. The
            requirement must be left out, or None.
        rng: of a private tree: None has OpenDP draw the noise, exactly and from the operating
            system's randomness, as a release needs it. A seed or a numpy Generator is for
            experiments: whoever knows its state can take the noise away. The owner's agent
            (`owner-agent share-model`) also keeps account of what was spent.

    Returns:
        the tree, its message, and what was given up.

    Raises:
        TableError: it is no table; cells are missing; a column identifies people; the target has
            too many numbers. `MissingColumn` and `EmptyTable` are of this kind.
        OptionError: an option is out of its range, or no requirement is written.
        DomainError, UnknownCategory: what is declared cannot be, or a record does not fit it.
        RequirementUnmet: nothing but the root would be left; it says what could be asked.
        NotInstalled: a private tree is asked for without rng, and OpenDP is not installed.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("titanic")
        >>> shared = pm.share_tree(people, "survived", pm.Requirement(k=20))
        >>> print(shared.paths()[["class", "hit", "miss"]].head(3).to_string(index=False))
        class   hit  miss
          yes 141.0   4.0
          yes 113.0  16.0
           no 106.0  90.0
        >>> round(shared.score(people), 3)
        0.783
    """
    growth = _growth(criterion, plain(max_depth), plain(min_leaf))
    asked = requirement_of(requirement, private=epsilon is not None)
    if epsilon is not None:
        options = {"by": by, "merge": merge, "least_gain": least_gain, "tell": tell}
        growing = {"criterion": criterion, "max_depth": max_depth, "min_leaf": min_leaf}
        _require_default({**options, **growing})
        columns = (target, features, ranges, categories, taxonomies)
        return private_model(frame, columns, asked, epsilon, rng)
    if by not in ("growing", "pruning"):
        raise OptionError(f"by must be 'growing' or 'pruning', not {shown(by)}.", where="by")
    with one_sentence():
        pruning = PruningOptions(
            merge="all" if merge is None else merge, least_gain=plain(least_gain)
        )
    if by == "growing" and merge is not None:
        raise OptionError(
            "merge is for by='pruning': nothing is merged where a tree is grown.", where="merge"
        )
    if least_gain is not None and (by == "growing" or asked is None):
        raise OptionError(
            "least_gain is for by='pruning' with a requirement: else nothing is cut back.",
            where="least_gain",
        )
    if rng is not None:
        raise OptionError("rng is for private trees, which have an epsilon.", where="rng")
    _require_tell(tell)
    schema, table, classes = training_columns(
        frame, target, features, ranges, categories, taxonomies
    )
    with one_sentence(), progress_bar("growing a tree"):
        learned = (schema, table, classes, growth)
        tree, pruned = _learned(learned, asked, pruning if by == "pruning" else None)
        released = released_form(tree, tell)
        open_ones = undeclared(schema, ranges, categories)
        words = (*protection_words(asked, schema.classes, tell=tell), *read_words(open_ones))
        return _made(released, asked, pruned, table.records, words)


def _learned(
    records: tuple[Any, ...], asked: Requirement | None, pruning: PruningOptions | None
) -> tuple[SharedTree, Pruned | None]:
    """Return the tree that meets what is asked, and what that cost: beside the one that need not.

    Args:
        records: what `grow_tree` takes: the schema, the attributes, the classes, how it is grown.
        asked: the requirement.
        pruning: how the tree is cut back; None grows it with the requirement.
    """
    tree = grow_tree(*records)
    if asked is None:
        return tree, None
    if pruning is not None:
        pruned = prune(tree, asked, pruning)
    else:
        met = prune(grow_tree(*records, requirement=asked), asked)
        pruned = replace(met, before=tree, hits_before=sum(leaf.hit for leaf in tree.leaves))
    return pruned.tree, pruned


def _require_tell(tell: object) -> None:
    """Refuse an unknown form of leaves before anything is grown. Raises OptionError."""
    if tell not in TELLS:
        raise OptionError(
            f"tell must be one of {', '.join(TELLS)}, not {shown(tell)}.", where="tell"
        )


def _require_default(given: Mapping[str, object]) -> None:
    """Refuse options that a private tree does not have. Raises OptionError."""
    parameters = signature(share_tree).parameters
    for name, value in given.items():
        if value != parameters[name].default:
            raise OptionError(
                f"{name} must be left out where there is an epsilon: a private tree is grown in"
                " another way.",
                where=name,
            )


def _growth(criterion: Any, max_depth: Any, min_leaf: Any) -> GrowthOptions:
    for name, value in (("max_depth", max_depth), ("min_leaf", min_leaf)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole and not (name == "max_depth" and value is None):
            raise OptionError(f"{name} must be a whole number, not {shown(value)}.", where=name)
    with one_sentence():
        return GrowthOptions(criterion=criterion, max_depth=max_depth, min_leaf=min_leaf)


def _made(
    tree: SharedTree,
    asked: Requirement | None,
    pruned: Pruned | None,
    records: int,
    words: Sequence[str],
) -> SharedModel:
    told = promised(tree, asked)
    content = KnowledgeModelMessage(
        tree=TreeDocument.of(tree),
        requirement=None
        if told is None
        else RequirementMessage(k=told.k, c=told.c, l=told.l, exact=told.exact),
        counts="exact",
        records=records,
        protection=list(words),
    )
    return SharedModel(tree, content, pruned)
