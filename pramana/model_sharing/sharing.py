"""`pm.share_tree`, which learns a tree from a frame for release in place of the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from owner_agent.randomize.exact_noise import ExactNoise
from pramana.estimators.saved import plain
from pramana.frames.randomness import Rng, generator_of
from pramana.frames.sentences import checked_options, listed, one_sentence, quoted
from pramana.frames.tables import Frame, shown
from pramana.model_sharing.classifying import TreePredictor
from pramana.model_sharing.columns import training_columns, undeclared
from pramana.model_sharing.messages import read_message, written
from pramana.reporting.files import write_whole
from pramana.showing import Drawn
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

__all__ = ["Requirement"]


@dataclass(frozen=True, eq=False, repr=False)
class SharedModel(Drawn, TreePredictor):
    """A decision tree for release in place of records, as `pm.share_tree` returns it.

    Attributes:
        tree: the tree.
        content: the tree's message: the tree, its requirement, the kind of its counts, and epsilon.

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
        """Sentences to read before a release, on how the tree protects the records."""
        return tuple(self.content.protection)

    def paths(self) -> pd.DataFrame:
        """Return one row per path.

        Columns: `conditions`, as text; `class`; `hit`; `miss`; and, if the tree has class counts, a
            column for each class such as `count_yes`.
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

    def _picture(self) -> Layout:
        return draw_shared_tree(self.tree)

    def _notes(self) -> tuple[str, ...]:
        return self.protection

    def _numbers(self) -> pd.DataFrame:
        return self.paths()

    def to_json(self) -> str:
        """Return the message as JSON text."""
        return written(self.content)

    def save(self, path: str | Path) -> None:
        """Write or replace the message's JSON file for `pm.load`. Raises OptionError."""
        text = self.to_json()
        write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))

    @classmethod
    def from_json(cls, text: str) -> SharedModel:
        """Return the tree in a text of `to_json`, or in a message of a miner or an owner.

        Raises InputError, ModelError, LimitExceeded.
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
        return "nothing required" if promise is None else str(promise)


def _requirement_of(given: Any) -> Requirement | None:
    if given is None or isinstance(given, Requirement):
        return given
    number = plain(given)
    if isinstance(number, int) and not isinstance(number, bool):
        with one_sentence("requirement"):
            return Requirement(k=number)
    raise OptionError(
        "requirement must be like pm.Requirement(k=5) or pm.Requirement(c=10, l=3), a number k,"
        f" or None for no requirement; it is {shown(given)}.",
        where="requirement",
    )


_DEFAULTS: dict[str, Any] = {"by": "growing", "tell": "hits", "max_depth": None, "min_leaf": 1}


def noise_of(rng: Rng) -> Noise:
    """Return exact noise for releases, or noise from a seed or generator. Raises OptionError."""
    return ExactNoise() if rng is None else GeneratorNoise(generator_of(rng))


@checked_options
def share_tree(
    frame: Frame,
    target: str,
    requirement: Requirement | int | None,
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
    """Learn a decision tree for release in place of the records.

    Each path meets the requirement (Sharkey et al. 2008, section 3), which gives anonymity. Only
    `epsilon` bounds what a tree reveals about one record to someone who knows all other records
    (`docs/model-sharing.md`).

    Args:
        frame: the true records, n rows without missing cells.
        target: the class column: categories, or at most 50 whole numbers.
        requirement: the requirement on each path. `pm.Requirement(k=5)`: at least five records.
            `pm.Requirement(c=10, l=3)`: the path's most frequent class has less than ten times the
            records of the third and all rarer ones. A number is k. None must be given explicitly
            and sets no requirement, so paths may reveal the classes of single people.
        features: the attributes; by default all other columns. Columns that identify people raise
            an error.
        ranges: the smallest and the largest number, by column. Ranges of other columns are derived
            from the records by rounding inner values outward, so no range shows a person's extreme
            value.
        categories: all labels, by column. Labels of other columns are read from the records.
        by: `growing` makes only splits whose parts all meet the requirement; `pruning` grows the
            whole tree and prunes it, as in the paper, which often gives a smaller tree.
        tell: the counts in leaves: `hits` for hits and misses, as in the paper, or `distribution`
            for all classes, which is more useful but reveals which classes a path lacks.
        max_depth: the maximum number of splits on a path; None for no limit.
        min_leaf: the fewest records of a leaf before pruning.
        epsilon: makes splits and counts differentially private for the replacement of one record.
            Ranges and categories must then be declared, and `requirement` must be None.
        rng: the randomness of private trees. None draws exact noise from the operating system's
            randomness, as a release requires. A seed or a numpy Generator is for experiments:
            anyone who knows its state can remove the noise. `owner-agent share-model` also keeps
            account of epsilon.

    Returns:
        the tree and its message.

    Raises:
        TableError: `frame` is not a table, has missing cells, a column that identifies people, or
            too many numbers as target. Subclasses: `MissingColumn`, `EmptyTable`.
        OptionError: an option is out of range, or `requirement` is missing.
        DomainError, UnknownCategory: a declaration is invalid, or a record does not fit it.
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
        given = {"requirement": requirement, "by": by, "tell": tell}
        given |= {"max_depth": max_depth, "min_leaf": min_leaf}
        usual = {"requirement": None, **_DEFAULTS}
        for name, value in given.items():
            if type(value) is not type(usual[name]) or value != usual[name]:
                raise OptionError(
                    f"{name} and epsilon exclude each other; pass only one of them.", where=name
                )
        return _private_model(frame, target, features, ranges, categories, epsilon, rng)
    required = _requirement_of(requirement)
    require_limit(by, Literal["growing", "pruning"], "by")
    require_limit(tell, Tell, "tell")
    if rng is not None:
        raise OptionError(
            "rng applies only to private trees; pass epsilon, or omit rng.", where="rng"
        )
    schema, table, classes = training_columns(frame, target, features, ranges, categories)
    with one_sentence(), progress_bar("growing a tree"):
        growing = required if by == "growing" else None
        tree = grow_tree(schema, table, classes, growth, requirement=growing)
        if required is not None:
            tree = prune(tree, required)
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
    # Whether all values are whole numbers may depend on one record, so it is not released.
    schema, table, classes = training_columns(frame, target, features, ranges, categories, whole=())
    if open_ones := undeclared(schema, ranges, categories):
        raise OptionError(
            f"epsilon needs declared ranges and categories of {quoted(open_ones)}: ranges and"
            " categories read from the records are not private.",
            where="categories",
        )
    with one_sentence(), progress_bar("growing a tree"):
        made = grow_private_tree(schema, table, classes, plain(epsilon), noise)
        words = protection_words(None, schema.classes, made.epsilon)
        content = SharedTreeMessage.of(
            made.tree, None, words, counts="noised", epsilon=made.epsilon
        )
        return SharedModel(made.tree, content)
