"""`pm.share_tree`: a frame in, a tree that may leave out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from pramana_core.model_sharing.exchange.drawing import draw_shared_tree
from pramana_core.model_sharing.exchange.protection import protection_words, read_words
from pramana_core.model_sharing.exchange.text import conditions_words, write_shared_tree_text
from pramana_core.model_sharing.growing import GrowthOptions, grow_tree
from pramana_core.model_sharing.private import GeneratorNoise, Noise, grow_private_tree
from pramana_core.model_sharing.private_options import require_epsilon
from pramana_core.model_sharing.pruning import prune
from pramana_core.model_sharing.requirements import Requirement, Tell, released_form
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.pictures.svg import Layout
from pramana_core.privacy import Amplification
from pramana_core.terminal import progress_bar
from pramana_core.wire.release_kinds import SharedTreeMessage

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Requirement"]


@dataclass(frozen=True, eq=False, repr=False)
class SharedModel(ClassTeller):
    """A decision tree that may leave in place of records; `pm.share_tree` makes it.

    Attributes:
        tree: the tree.
        content: its message: the tree, the requirement, how counts were made, epsilon.

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

    @property
    def message(self) -> dict[str, Any]:
        """The message as JSON data: the `model` of a release."""
        return self.content.model_dump(mode="json")

    @property
    def _fitted(self) -> SharedTree:
        return self.tree

    @property
    def target(self) -> str:
        """The column of the class."""
        return self.tree.schema.target.name

    @property
    def protection(self) -> tuple[str, ...]:
        """What one must know before it leaves, in sentences."""
        return tuple(self.content.protection)

    def paths(self) -> pd.DataFrame:
        """Return a row for each path.

        Columns: `conditions` in words, `class`, `hit`, `miss`, and `count_` of each class if the
        tree tells these.
        """
        import pandas as pd

        schema, rows = self.tree.schema, []
        labels = schema.target.categories
        for path in self.tree.paths():
            row = {
                "conditions": conditions_words(schema, path.conditions.items()),
                "class": labels[path.leaf.label],
                "hit": path.leaf.hit,
                "miss": path.leaf.miss,
            }
            counts = zip(labels, path.leaf.distribution or (), strict=False)
            rows.append(row | {f"count_{label}": count for label, count in counts})
        return pd.DataFrame(rows)

    def to_text(self) -> str:
        """Return the tree as indented text."""
        return write_shared_tree_text(self.tree)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the tree.

        Args:
            ax: matplotlib axes to draw on; None makes a figure.

        Raises:
            OptionError: `ax` is no axes.
        """
        return plotted(self._picture(), ax)

    def _picture(self) -> Layout:
        return draw_shared_tree(self.tree)

    def to_json(self) -> str:
        """Return the message as JSON text."""
        return written(self.content)

    def save(self, path: str | Path) -> None:
        """Write the message as a JSON file, which `pm.load` reads.

        Args:
            path: the file; an existing one is replaced.

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
            ModelError: its nodes are no tree, or do not meet what is promised.
            LimitExceeded: it is too large or too deep.
        """
        with one_sentence():
            content = read_message(text, "text")
            return cls(content.require_promised(), content)

    def __repr__(self) -> str:
        schema, leaves = self.tree.schema, len(self.tree.leaves)
        paths = "1 path" if leaves == 1 else f"{leaves:,} paths"
        return (
            f"SharedModel({schema.target.name} by {listed(schema.names)}: {paths},"
            f" {self._promised()})"
        )

    def _promised(self) -> str:
        if self.content.epsilon is not None:
            return Amplification(self.content.epsilon).told
        promise = self.content.requirement
        return "nothing required" if promise is None else str(promise.to_requirement())

    def _repr_html_(self) -> str:
        facts = [
            ("class", self.target),
            ("attributes", listed(self.tree.schema.names)),
            ("paths", f"{len(self.tree.leaves):,}"),
            ("promised", self._promised()),
        ]
        facts += [("know", words) for words in self.protection]
        with one_sentence():
            picture = self._picture().svg()
            return card("SharedModel", facts, picture, self.paths(), "paths() has all")


class NotGiven:
    """The default of a requirement: requiring nothing must be written out."""

    def __repr__(self) -> str:
        return "..."


NOT_GIVEN = NotGiven()


def _requirement_of(given: Any) -> Requirement | None:
    """Return a requirement: itself, or k. Raises OptionError."""
    if given is None or isinstance(given, Requirement):
        return given
    number = plain(given)
    if isinstance(number, int) and not isinstance(number, bool):
        with one_sentence("requirement"):
            return Requirement(k=number)
    raise OptionError(
        "requirement must be pm.Requirement(k=5), pm.Requirement(c=10, l=3), a number k, or None,"
        f" which requires nothing; there is no default, and it was {shown(given)}.",
        where="requirement",
    )


def noise_of(rng: Rng) -> Noise:
    """Return exact noise, as releases need it, or for experiments that of a seed or generator.

    Raises:
        OptionError: it is no seed and no generator.
    """
    return ExactNoise() if rng is None else GeneratorNoise(generator_of(rng))


@options_told
def share_tree(
    frame: Frame,
    target: str,
    requirement: Requirement | int | NotGiven | None = NOT_GIVEN,
    *,
    features: str | Sequence[str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    by: Literal["growing", "pruning"] = "growing",
    tell: Tell = "hits",
    max_depth: int | None = None,
    min_leaf: int = 1,
    epsilon: float | None = None,
    rng: Rng = None,
) -> SharedModel:
    """Learn a decision tree that may leave in place of the records.

    Each path meets the requirement (Sharkey et al. 2008, section 3). That is anonymity, not a
    bound: only `epsilon` bounds what a tree tells of one record to someone who knows the others
    (`docs/model-sharing.md`).

    Args:
        frame: the true records, n rows without missing cells.
        target: the column of the class: categories, or at most 50 whole numbers.
        requirement: what each path must meet. `pm.Requirement(k=5)`: at least five records.
            `pm.Requirement(c=10, l=3)`: its most frequent class has less than ten times the records
            of the third and all rarer ones. A number is k. None, written out, requires nothing:
            paths then tell single people's classes.
        features: the attributes; by default all other columns. Columns that identify people are
            refused.
        ranges: the least and the greatest number of columns, by name. Other ranges are read from
            the records: rounded outward from inner values, never a person's extreme.
        categories: all labels of columns, by name. Other labels are read from the records.
        by: `growing` makes only splits whose parts all meet the requirement; `pruning` grows the
            whole tree and cuts it back, as in the paper, which often leaves less.
        tell: what leaves tell: `hits` and misses, as in the paper, or the `distribution` of all
            classes, which is more useful and tells which classes a path lacks.
        max_depth: the most questions on a path; None for any.
        min_leaf: the fewest records of a leaf before pruning.
        epsilon: makes splits and counts differentially private for the replacement of one record.
            Ranges and categories must then be declared, and nothing be required.
        rng: for private trees. None draws exact noise from the operating system's randomness, as a
            release needs it. A seed or a numpy Generator is for experiments: whoever knows its
            state can remove the noise. `owner-agent share-model` also keeps account of epsilon.

    Returns:
        the tree and its message.

    Raises:
        TableError: it is no table, cells are missing, a column identifies people, or the target has
            too many numbers. `MissingColumn` and `EmptyTable` are of this kind.
        OptionError: an option is out of its range, or no requirement is written.
        DomainError, UnknownCategory: a declaration is impossible, or a record does not fit it.
        RequirementUnmet: only the root would remain.

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
    if epsilon is not None:
        usual = {"requirement": None} | {
            name: signature(share_tree).parameters[name].default
            for name in ("by", "tell", "max_depth", "min_leaf")
        }
        given = (None if requirement is NOT_GIVEN else requirement, by, tell, max_depth, min_leaf)
        for value, (name, default) in zip(given, usual.items(), strict=True):
            if type(value) is not type(default) or value != default:
                raise OptionError(f"{name} must be left out where there is an epsilon.", where=name)
        return _private_model(frame, target, features, ranges, categories, epsilon, rng)
    required = _requirement_of(requirement)
    require_limit(by, Literal["growing", "pruning"], "by")
    require_limit(tell, Tell, "tell")
    if rng is not None:
        raise OptionError("rng is for private trees, which have an epsilon.", where="rng")
    schema, table, classes = training_columns(frame, target, features, ranges, categories)
    with one_sentence(), progress_bar("growing a tree"):
        growing = required if by == "growing" else None
        tree = grow_tree(schema, table, classes, growth, requirement=growing)
        if required is not None:
            tree = prune(tree, required).tree
        released = released_form(tree, tell)
        words = protection_words(required, schema.classes, tell=tell)
        words += read_words(undeclared(schema, ranges, categories))
        content = SharedTreeMessage.of(released, required, words, records=table.records)
        return SharedModel(released, content)


def _private_model(
    frame: Frame,
    target: str,
    features: str | Sequence[str] | None,
    ranges: Any,
    categories: Any,
    epsilon: Any,
    rng: Rng,
) -> SharedModel:
    with one_sentence():
        require_epsilon(plain(epsilon))
    noise = noise_of(rng)
    # Whether all values are whole numbers is not told: one record may decide it.
    schema, table, classes = training_columns(frame, target, features, ranges, categories, whole=())
    if open_ones := undeclared(schema, ranges, categories):
        raise OptionError(
            f"epsilon needs declared ranges and categories of {quoted(open_ones)}: what is read"
            " from the records is not private.",
            where="categories",
        )
    with one_sentence(), progress_bar("growing a tree"):
        made = grow_private_tree(schema, table, classes, plain(epsilon), noise)
        words = protection_words(None, schema.classes, made.epsilon)
        content = SharedTreeMessage.of(
            made.tree, None, words, counts="noised", epsilon=made.epsilon
        )
        return SharedModel(made.tree, content)
