"""What sharing a tree would release, what was given up for it, and what it promises."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console

from owner_agent.release.tree import GrownTree, PreparedTree
from owner_agent.report.page import ReportView
from owner_agent.report.release_report import ReleaseReport, printing
from pramana_core.mixed import NumericColumn
from pramana_core.model_sharing.attributes import NumericAttribute
from pramana_core.model_sharing.exchange.drawing import draw_shared_tree
from pramana_core.model_sharing.exchange.protection import UNPROTECTED
from pramana_core.model_sharing.exchange.text import write_shared_tree_text
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.privacy import Amplification
from pramana_core.progress import Progress, StagedProgress


@dataclass(frozen=True)
class TreeFigures:
    """A tree in a few true figures of the owner's own records.

    Attributes:
        leaves: how many paths it has.
        depth: how many questions the longest way has.
        smallest: how many of the records the smallest path has.
        accuracy: of which share of the records it tells the class.
    """

    leaves: int
    depth: int
    smallest: int
    accuracy: float

    def as_dict(self) -> dict[str, Any]:
        """Return JSON."""
        return {
            "leaves": self.leaves,
            "depth": self.depth,
            "smallest_path": self.smallest,
            "accuracy_on_own_records": self.accuracy,
        }


@dataclass(frozen=True, eq=False, repr=False)
class TreeReport(ReleaseReport[PreparedTree]):
    """What sharing a tree would release, in figures of the owner's own records.

    Attributes:
        before: the tree with nothing required of it; None if nothing is, or it is private.
        after: the tree that would leave.
        majority: the share of the records that are of the most frequent class.
        violating: how many of that tree's paths do not meet what is required.
    """

    before: TreeFigures | None
    after: TreeFigures
    majority: float
    violating: int

    @property
    def headline(self) -> tuple[str, ...]:
        """What would be released."""
        chosen = self.now.made.chosen
        learned = f"a tree of {chosen.schema.target.name} from {', '.join(chosen.schema.names)}"
        return (f"{chosen.records:,} records: {learned}; {self.now.method}.",)

    @property
    def protection(self) -> tuple[str, ...]:
        """What the tree promises, as whoever gets it reads it."""
        return tuple(self.now.made.message.protection)

    @property
    def alarms(self) -> tuple[str, ...]:
        """What must not be overlooked."""
        section = self.now.made.chosen.section
        if section.private is not None or section.required is not None:
            return ()
        alone = self.after.smallest
        people = "a single record" if alone == 1 else f"{alone:,} records"
        return (f"{UNPROTECTED} The smallest path here is of {people}.",)

    @property
    def cautions(self) -> tuple[str, ...]:
        """What else the custodian should know."""
        found = self.left_out("tree")
        found += self._beyond_ranges()
        if over := self.now.over:
            found.append(
                f"{', '.join(over)} would have lost more than max_epsilon allows: publishing is"
                " refused."
            )
        else:
            found += self.refusals()
        return tuple(found)

    def _beyond_ranges(self) -> list[str]:
        chosen = self.now.made.chosen
        found = []
        declared = {a.column for a in chosen.section.attributes if a.declared}
        for attribute in chosen.schema.attributes:
            if not isinstance(attribute, NumericAttribute):
                continue
            column = chosen.columns.table[attribute.name]
            assert isinstance(column, NumericColumn)  # noqa: S101 - as the schema was made of it
            low, high = attribute.low, attribute.high
            beyond = int(np.count_nonzero((column.values < low) | (column.values > high)))
            if beyond and attribute.name in declared:
                found.append(
                    f"{beyond:,} values of {attribute.name} lie outside its range of {low:g} to"
                    f" {high:g} and count as the nearer end."
                )
            if attribute.name not in declared:
                found.append(
                    f"The range of {attribute.name} that is told, {low:g} to {high:g}, was looked"
                    " up in the table and rounded outward; declare low and high to tell nothing of"
                    " it."
                )
        return found

    @property
    def refused(self) -> tuple[str, ...]:
        """The columns that may not leave so, unless the added loss is accepted."""
        private = self.now.made.chosen.private
        if private is not None and private.max_epsilon is not None:
            return self.now.over
        return super().refused

    @property
    def given_up(self) -> dict[str, Any] | None:
        """What the requirement cost; None if nothing is required."""
        if self.before is None:
            return None
        return {
            "paths_that_did_not_meet_it": self.violating,
            "leaves": self.before.leaves - self.after.leaves,
        }

    def as_dict(self) -> dict[str, Any]:
        """Return JSON: figures, words, and the message that would leave."""
        chosen, made = self.now.made.chosen, self.now.made
        return {
            "records": chosen.records,
            "dropped": chosen.columns.dropped,
            "target": chosen.schema.target.name,
            "classes": list(chosen.schema.target.categories),
            "attributes": list(chosen.schema.names),
            "method": made.method,
            "epsilon": None if chosen.private is None else chosen.private.epsilon,
            "before": None if self.before is None else self.before.as_dict(),
            "after": self.after.as_dict(),
            "most_frequent_class": self.majority,
            "given_up": self.given_up,
            "alarms": list(self.alarms),
            "warnings": list(self.cautions),
            "protection": list(self.protection),
            "message": made.message.model_dump(mode="json", by_alias=True),
            "ledger": None if self.losses is None else self.losses.as_dict(),
        }


def report_of(now: PreparedTree, _watch: StagedProgress | None = None) -> TreeReport:
    """Measure a tree that would leave on the owner's own records."""
    made = now.made
    chosen = made.chosen
    required = chosen.section.required
    grown = made.grown if required is not None else None
    counts = np.bincount(chosen.classes, minlength=chosen.schema.classes)
    return TreeReport(
        now,
        None if grown is None else _figures(now, grown),
        _figures(now, made.tree),
        float(counts.max() / counts.sum()),
        0
        if grown is None or required is None
        else sum(not required.required.met_by(leaf) for leaf in grown.leaves),
    )


def _figures(now: PreparedTree, tree: SharedTree) -> TreeFigures:
    chosen = now.made.chosen
    places = tree.leaf_of(chosen.attributes)
    leaves = tree.leaves
    labels = np.array([leaf.label for leaf in leaves])
    sizes = np.bincount(places, minlength=len(leaves))
    return TreeFigures(
        len(leaves), tree.depth, int(sizes.min()), float(np.mean(labels[places] == chosen.classes))
    )


@dataclass(frozen=True)
class Drawing:
    """A picture of a tree, and its text."""

    title: str
    svg: str
    text: str


def drawings_of(made: GrownTree) -> tuple[Drawing, ...]:
    """Return pictures of the tree without a requirement, if there is one, and with it."""
    leaving = _one("The tree that would leave", made.tree)
    if made.chosen.section.required is None or made.grown is None:
        return (leaving,)
    return (_one("With nothing required", made.grown), leaving)


def tree_text(tree: SharedTree, most: int = 400) -> str:
    """Return a tree as lines, at most so many."""
    return write_shared_tree_text(tree, most_lines=most)


def _one(title: str, tree: SharedTree) -> Drawing:
    return Drawing(title, draw_shared_tree(tree).svg(), tree_text(tree))


def _message(report: TreeReport) -> str:
    """Return the message that would leave, for reading."""
    document = report.now.made.message.model_dump(mode="json", by_alias=True)
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _drawn(report: TreeReport, tick: Progress) -> dict[str, Any]:
    """Return what the page shows besides the report's figures: the tree before it was cut back."""
    tick(0, 1)
    private = report.now.made.chosen.private
    drawn = {
        "private": private,
        "gamma": None if private is None else Amplification(private.epsilon).written_gamma,
        "pictures": drawings_of(report.now.made),
        "losses": report.earlier,
        "message": _message(report),
    }
    tick(1, 1)
    return drawn


MOST_LINES = 24
"""So many lines of a tree are printed; the report has more."""


def _details(console: Console, report: TreeReport) -> None:
    """Print the tree that would leave, and what was given up for it."""
    figures = report.after
    first = (
        f"{figures.leaves:,} paths, {figures.depth:,} questions on the longest way,"
        f" {figures.smallest:,} of your records on the smallest path; the class of"
        f" {figures.accuracy:.1%} of your records is told rightly. Always telling the most frequent"
        f" class would be right for {report.majority:.1%}."
    )
    said = [first]
    given = report.given_up
    if given is not None and report.before is not None:
        said.append(
            f"With nothing required, {given['paths_that_did_not_meet_it']:,} of"
            f" {report.before.leaves:,} paths would not meet the requirement."
        )
    for line in said:
        console.print(line, soft_wrap=True, markup=False)
    for line in tree_text(report.now.made.tree, MOST_LINES).splitlines():
        console.print(f"  {line}", markup=False, no_wrap=True, overflow="ellipsis")


TREE = ReportView(
    "share-model.html",
    _drawn,
    printing(_details),
    beside=lambda report: {".message.json": _message(report)},
)
