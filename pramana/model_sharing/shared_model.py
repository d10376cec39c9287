"""A tree that may leave in place of records, and what was given up for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramana.frames.sentences import listed, one_sentence
from pramana.model_sharing.columns import ClassTeller
from pramana.model_sharing.declared import read_message, written
from pramana.reporting.files import write_whole
from pramana.showing.charts import plotted
from pramana.showing.html import card
from pramana_core.errors import OptionError
from pramana_core.model_sharing.exchange.drawing import draw_pruning, draw_shared_tree
from pramana_core.model_sharing.exchange.text import conditions_words, write_shared_tree_text
from pramana_core.model_sharing.pruning import Pruned
from pramana_core.model_sharing.requirements import measures_words, tree_measures
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.pictures.svg import Layout
from pramana_core.privacy.amplification import Amplification
from pramana_core.wire.releases.shared_tree import SharedTreeMessage

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


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
        if self.pruned is not None and self.pruned.steps:
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
        cut = self.pruned is not None and bool(self.pruned.steps)
        was = f"; pruned from {len(self.before.leaves):,}" if cut else ""
        return f"{schema.target.name} by {listed(schema.names)}: {paths}, {promised}{was}"

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
        if self.content.epsilon is None:
            facts.append(("met", measures_words(tree_measures(self.tree))))
        if (cut := self.pruned) is not None:
            words = (
                f"{cut.leaves_before:,} paths to {cut.leaves_after:,}; {cut.records_moved:,.0f}"
                f" records moved; of the records it was grown from, which tell more than new ones"
                f" would, the class is right of {cut.accuracy_before:.1%} before and"
                f" {cut.accuracy_after:.1%} after"
            )
            facts.append(("given up", words))
        if self.pruned is not None and self.pruned.steps:
            facts.append(("picture", "the tree before above, what may leave below: keep it"))
        facts += [("know", words) for words in self.protection]
        with one_sentence():
            return card(
                "SharedModel", facts, self._picture().svg(), self.paths(), "paths() has all"
            )
