"""`pm.share_tree`: a frame in, a tree that may leave out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from owner_agent.randomize.exact_noise import ExactNoise
from pramana.estimators.saved import plain
from pramana.frames.randomness import Rng, generator_of
from pramana.frames.sentences import listed, one_sentence, options_told, quoted
from pramana.frames.tables import Frame, shown
from pramana.model_sharing.classifying import ClassTeller
from pramana.model_sharing.columns import training_columns, undeclared
from pramana.model_sharing.messages import read_message, written
from pramana.reporting.files import write_whole
from pramana.showing import card, plotted
from pramana_core.errors import OptionError
from pramana_core.learn.common.options import require_limit
from pramana_core.model_sharing.exchange.drawing import draw_pruning, draw_shared_tree
from pramana_core.model_sharing.exchange.protection import protection_words, read_words
from pramana_core.model_sharing.exchange.text import conditions_words, write_shared_tree_text
from pramana_core.model_sharing.growing import GrowthOptions, grow_tree
from pramana_core.model_sharing.noise import GeneratorNoise, Noise
from pramana_core.model_sharing.private import grow_private_tree
from pramana_core.model_sharing.private_options import require_epsilon
from pramana_core.model_sharing.pruning import Pruned, PruningOptions, prune
from pramana_core.model_sharing.requirements import Requirement, Tell, released_form
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.pictures.svg import Layout
from pramana_core.privacy.amplification import Amplification
from pramana_core.terminal import progress_bar
from pramana_core.wire.release_kinds import SharedTreeMessage

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Requirement"]


@dataclass(frozen=True, eq=False, repr=False)
class SharedModel(ClassTeller):
    """A decision tree that may leave in place of records; `pm.share_tree` makes it.

    `message` may leave, and what `save` writes; the object itself stays, for it remembers the tree
    as it was before it was pruned.

    Attributes:
        tree: the tree that may leave.
        content: the message with it: the requirement, how counts came about, epsilon.
        pruned: the tree before and what was given up, for whoever may see that; None of what was
            loaded, or is private.

    Examples:
        >>> import pramana as pm
        >>> shared = pm.share_tree(pm.example("titanic"), "survived", pm.Requirement(k=20))
        >>> shared
        SharedModel(survived by class, age, sex: 8 paths, k = 20)
        >>> shared.predict({"class": ["1st"], "age": ["adult"], "sex": ["female"]})
        array(['yes'], dtype=object)
    """

    tree: SharedTree
    content: SharedTreeMessage
    pruned: Pruned | None = field(default=None, repr=False)

    @property
    def message(self) -> dict[str, Any]:
        """What may leave, as JSON can say it: the `model` of a release."""
        return self.content.model_dump(mode="json")

    @property
    def _fitted(self) -> SharedTree:
        return self.tree

    @property
    def target(self) -> str:
        """The column that holds the class."""
        return self.tree.schema.target.name

    @property
    def before(self) -> SharedTree:
        """The tree with nothing required of it, before it was pruned, which stays.

        Raises:
            OptionError: this was loaded, or no tree was pruned.
        """
        return self._origin("before").before

    @property
    def given_up(self) -> Mapping[str, float]:
        """What the requirement cost, numbers by name.

        `leaves_before` and `leaves_after`, how many paths there are; `records_moved`, how many
        records are on paths that were merged by pruning; `accuracy_before` and `accuracy_after`,
        the share of the frame's records whose class is predicted right: more than of new ones.

        Raises:
            OptionError: this was loaded, or no tree was pruned.
        """
        found = self._origin("given_up")
        return {
            "leaves_before": found.leaves_before,
            "leaves_after": found.leaves_after,
            "records_moved": found.records_moved,
            "accuracy_before": found.accuracy_before,
            "accuracy_after": found.accuracy_after,
        }

    @property
    def protection(self) -> tuple[str, ...]:
        """What must be known before this leaves, a sentence each."""
        return tuple(self.content.protection)

    def paths(self) -> pd.DataFrame:
        """Return the paths, a row each.

        Columns: `conditions` in words, `class`, `hit`, `miss`, and, where the counts of all classes
        are told, `count_` and the class.
        """
        import pandas as pd

        schema, rows = self.tree.schema, []
        for path in self.tree.paths():
            row = {
                "conditions": conditions_words(schema, path.conditions.items()),
                "class": schema.target.categories[path.leaf.label],
                "hit": path.leaf.hit,
                "miss": path.leaf.miss,
            }
            if path.leaf.distribution is not None:
                labels = schema.target.categories
                counts = zip(labels, path.leaf.distribution, strict=True)
                row |= {f"count_{label}": count for label, count in counts}
            rows.append(row)
        return pd.DataFrame(rows)

    def to_text(self) -> str:
        """Return the tree as indented text."""
        return write_shared_tree_text(self.tree)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the tree; above it, where it was pruned, the tree before, with what is gone.

        The tree before is for whoever may see the records.

        Args:
            ax: matplotlib axes to draw on; None makes a figure.

        Returns:
            the axes.

        Raises:
            OptionError: `ax` is no axes.
        """
        return plotted(self._picture(), ax)

    def _picture(self) -> Layout:
        if self._was_cut:
            return draw_pruning(self.before, self.tree)
        return draw_shared_tree(self.tree)

    def to_json(self) -> str:
        """Return what may leave as JSON text."""
        return written(self.content)

    def save(self, path: str | Path) -> None:
        """Write what may leave as a JSON file; `pm.load` reads it.

        Args:
            path: the file; one that is there is replaced.

        Raises:
            OptionError: it cannot be written there.

        Examples:
            >>> import pramana as pm, tempfile
            >>> shared = pm.share_tree(pm.example("titanic"), "survived", pm.Requirement(k=20))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     shared.save(f"{folder}/tree.json")
            ...     pm.load(f"{folder}/tree.json").message == shared.message
            True
        """
        text = self.to_json()
        write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))

    @classmethod
    def from_json(cls, text: str) -> SharedModel:
        """Return the tree of the text of `to_json`, or of a miner's or an owner's message.

        Raises:
            InputError: the text is no such message.
            ModelError: its paths are not those of a tree, or do not meet what is promised.
            LimitExceeded: it is too large or too deep.
        """
        with one_sentence():
            content = read_message(text, "text")
            return cls(content.require_promised(), content)

    def _origin(self, asked: str) -> Pruned:
        if self.pruned is None:
            raise OptionError(
                f"{asked} is known only where a tree was pruned, and is not in a file of what may"
                " leave.",
                where=asked,
            )
        return self.pruned

    def __reduce__(self) -> Any:
        """Refuse to be pickled or copied deeply: the tree before would go with it."""
        raise OptionError(
            "A SharedModel must not be pickled, for it remembers the tree before it was pruned; its"
            " message may be, and save writes what may leave.",
            where="SharedModel",
        )

    def __repr__(self) -> str:
        return f"SharedModel({self._told()})"

    def _told(self) -> str:
        schema, leaves = self.tree.schema, len(self.tree.leaves)
        paths = "1 path" if leaves == 1 else f"{leaves:,} paths"
        promised = self._promised()
        cut = self._was_cut
        was = f"; pruned from {len(self.before.leaves):,}" if cut else ""
        return f"{schema.target.name} by {listed(schema.names)}: {paths}, {promised}{was}"

    @property
    def _was_cut(self) -> bool:
        return self.pruned is not None and self.pruned.records_moved > 0

    def _promised(self) -> str:
        if self.pruned is not None:
            return str(self.pruned.requirement)
        if self.content.epsilon is not None:
            return Amplification(self.content.epsilon).told
        asked = self.content.requirement
        return "nothing required" if asked is None else str(asked.to_requirement())

    def _repr_html_(self) -> str:
        facts = [
            ("class", self.target),
            ("attributes", listed(self.tree.schema.names)),
            ("paths", f"{len(self.tree.leaves):,}"),
            ("promised", self._promised()),
        ]
        if (cut := self.pruned) is not None:
            words = (
                f"{cut.leaves_before:,} paths to {cut.leaves_after:,}; {cut.records_moved:,.0f}"
                f" records moved; of the records it was grown from, which tell more than new ones"
                f" would, the class is right of {cut.accuracy_before:.1%} before and"
                f" {cut.accuracy_after:.1%} after"
            )
            facts.append(("given up", words))
        if self._was_cut:
            facts.append(("picture", "the tree before above, what may leave below: keep it"))
        facts += [("know", words) for words in self.protection]
        with one_sentence():
            return card(
                "SharedModel", facts, self._picture().svg(), self.paths(), "paths() has all"
            )


_WANTED = (
    "requirement must be pm.Requirement(k=5), pm.Requirement(c=10, l=3), a number k, or None, which"
    " requires nothing"
)


class NotGiven:
    """The default of a requirement: that nothing is required must be written out."""

    def __repr__(self) -> str:
        return "..."


NOT_GIVEN = NotGiven()


def _requirement_of(given: Any, *, private: bool) -> Requirement | None:
    """Return a requirement: itself, or k. Raises OptionError."""
    if given is None or isinstance(given, Requirement):
        return given
    if private and isinstance(given, NotGiven):
        return None
    if isinstance(given, NotGiven):
        raise OptionError(f"{_WANTED}; there is no default.", where="requirement")
    number = plain(given)
    if isinstance(number, int) and not isinstance(number, bool):
        with one_sentence("requirement"):
            return Requirement(k=number)
    raise OptionError(f"{_WANTED}, not {shown(given)}.", where="requirement")


def _private_model(
    frame: Frame, columns: tuple[Any, ...], asked: Requirement | None, epsilon: Any, rng: Rng
) -> SharedModel:
    """Return a private tree. Raises OptionError."""
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
    target, features, ranges, categories = columns
    # Whether all values are whole numbers is not told: one record may decide it.
    schema, table, classes = training_columns(frame, target, features, ranges, categories, whole=())
    if open_ones := undeclared(schema, ranges, categories):
        raise OptionError(
            f"epsilon needs ranges and categories to declare {quoted(open_ones)}: what is read from"
            " the records is not private.",
            where="categories",
        )
    with one_sentence(), progress_bar("growing a tree"):
        made = grow_private_tree(schema, table, classes, float(epsilon), noise)
    words = protection_words(None, schema.classes, made.epsilon)
    content = SharedTreeMessage.of(made.tree, None, words, counts="noised", epsilon=made.epsilon)
    return SharedModel(made.tree, content)


def noise_of(rng: Rng) -> Noise:
    """Return what draws noise: exact noise for releases, or for experiments the generator passed.

    Raises:
        OptionError: it is no seed and no generator.
    """
    if rng is None:
        return ExactNoise()
    return GeneratorNoise(generator_of(rng))


@options_told
def share_tree(
    frame: Frame,
    target: str,
    requirement: Requirement | int | None = NOT_GIVEN,  # type: ignore[assignment]
    *,
    features: str | Sequence[str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    by: Literal["growing", "pruning"] = "growing",
    merge: Literal["all", "fewest"] | None = None,
    tell: Literal["hits", "distribution"] = "hits",
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
        by: `growing` makes only splits whose parts all meet the requirement; `pruning` grows the
            tree as far as it goes and cuts it back, as in the paper, which often leaves less, and
            of (c, l) often nothing.
        merge: by pruning, what a path that does not meet it is merged with: `all` its siblings (by
            default), or the `fewest` that suffice.
        tell: what leaves tell: `hits` and misses, as in the paper, or the `distribution` of all
            classes, which is more useful, and tells which classes a path has not.
        max_depth: the most questions on a path; None for any.
        min_leaf: the fewest records of a leaf before pruning.
        epsilon: with it the tree is differentially private, splits and counts, for the replacement
            of one record by any other; ranges and categories must then be declared. The
            requirement must be left out, or None.
        rng: of a private tree: None has the noise drawn exactly and from the operating
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
    with one_sentence():
        growth = GrowthOptions(plain(max_depth), plain(min_leaf))
    asked = _requirement_of(requirement, private=epsilon is not None)
    if epsilon is not None:
        _require_default(by=by, merge=merge, tell=tell, max_depth=max_depth, min_leaf=min_leaf)
        columns = (target, features, ranges, categories)
        return _private_model(frame, columns, asked, epsilon, rng)
    require_limit(by, Literal["growing", "pruning"], "by")
    require_limit(tell, Tell, "tell")
    with one_sentence():
        pruning = PruningOptions("all" if merge is None else merge)
    if by == "growing" and merge is not None:
        raise OptionError(
            "merge is for by='pruning': nothing is merged where a tree is grown.", where="merge"
        )
    if rng is not None:
        raise OptionError("rng is for private trees, which have an epsilon.", where="rng")
    schema, table, classes = training_columns(frame, target, features, ranges, categories)
    with one_sentence(), progress_bar("growing a tree"):
        learned = (schema, table, classes, growth)
        tree, pruned = _learned(learned, asked, pruning if by == "pruning" else None)
        released = released_form(tree, tell)
        open_ones = undeclared(schema, ranges, categories)
        words = (*protection_words(asked, schema.classes, tell=tell), *read_words(open_ones))
        content = SharedTreeMessage.of(released, asked, words, records=table.records)
        return SharedModel(released, content, pruned)


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


def _require_default(**given: object) -> None:
    """Refuse options that a private tree does not have. Raises OptionError."""
    parameters = signature(share_tree).parameters
    for name, value in given.items():
        default = parameters[name].default
        if type(value) is not type(default) or value != default:
            raise OptionError(
                f"{name} must be left out where there is an epsilon: a private tree is grown in"
                " another way.",
                where=name,
            )
