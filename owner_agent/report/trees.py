"""The report on a tree before its release: how accurate it is, and what it guarantees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from owner_agent.release.tree import PreparedTree
from owner_agent.report.losses import Losses, left_out, losses_by, refusals
from pramana_core.mixed import NumericColumn
from pramana_core.model_sharing.attributes import NumericAttribute
from pramana_core.model_sharing.exchange.drawing import draw_shared_tree
from pramana_core.model_sharing.exchange.protection import UNPROTECTED
from pramana_core.model_sharing.exchange.text import write_shared_tree_text
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.privacy import Amplification
from pramana_core.progress import StagedProgress
from pramana_core.report.numbers import count, percent, plural
from pramana_core.report.report import Column, Fact, Picture, Report, Row, Section, Sentence, Table

PAGE = "share-model.html"

MOST_LINES = 400
"""Largest count of lines of a tree on a page."""

SHORT = 4000
"""Messages of fewer characters are shown unfolded."""


def report_of(now: PreparedTree, _watch: StagedProgress | None = None) -> Report:
    """Return the report on a tree, with measures on the owner's own records."""
    chosen = now.chosen
    required, private, losses = chosen.section.required, chosen.private, losses_by(now)
    grown = now.grown if required is not None else None
    before, after = None if grown is None else _figures(now, grown), _figures(now, now.tree)
    classes = np.bincount(chosen.classes, minlength=chosen.schema.classes)
    majority = float(classes.max() / classes.sum())
    given_up = None
    if grown is not None and required is not None and before is not None:
        given_up = {
            "paths_that_did_not_meet_it": sum(
                not required.required.met_by(leaf) for leaf in grown.leaves
            ),
            "leaves": before["leaves"] - after["leaves"],
        }
    message = now.message.model_dump(mode="json", by_alias=True)
    numbers = {
        "records": chosen.records,
        "dropped": chosen.columns.dropped,
        "target": chosen.schema.target.name,
        "classes": list(chosen.schema.target.categories),
        "attributes": list(chosen.schema.names),
        "method": now.method,
        "epsilon": None if private is None else private.epsilon,
        "before": before,
        "after": after,
        "most_frequent_class": majority,
        "given_up": given_up,
        "protection": list(now.message.protection),
        "message": message,
        "ledger": None if losses is None else losses.as_dict(),
    }
    text = json.dumps(message, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    sections = [
        _summary(now, numbers, losses),
        Section(
            "What this guarantees and what it does not",
            [Sentence(words, "point") for words in now.message.protection],
        ),
        _compared(numbers),
        *_tree(now.tree),
    ]
    if losses is not None:
        note = (
            "All columns of a private tree share one epsilon. The sums do not include other trees."
        )
        sections.append(losses.section(note))
    sections.append(
        Section(
            "The exact message",
            [
                (
                    "`owner-agent share-model --publish` sends this message and nothing else. The"
                    " file next to this page that ends in `.message.json` also contains it."
                )
            ],
            text=text,
            folded="" if len(text) < SHORT else f"The message ({len(text):,} characters)",
            brief=False,
        )
    )
    return Report(
        "the tree to be sent",
        sections,
        numbers,
        "The JSON file next to this page has the same figures.",
        {".message.json": text},
    )


def _summary(now: PreparedTree, numbers: Row, losses: Losses | None) -> Section:
    before, after, epsilon = numbers["before"], numbers["after"], numbers["epsilon"]
    right = "of your own records are predicted correctly"
    if before:
        right += f", {percent(before['accuracy_on_own_records'])} without the requirement"
    facts = [
        Fact(f"{numbers['records']:,}", "records"),
        Fact(plural(after["leaves"], "path"), "would be sent instead of records"),
        Fact("no bound", numbers["method"])
        if epsilon is None
        else Fact(
            f"ε = {epsilon:g}",
            "bounds what the whole tree reveals about one record: gamma"
            f" {Amplification(epsilon).written_gamma}; {numbers['method']}",
        ),
        Fact(
            percent(after["accuracy_on_own_records"]),
            f"{right}. The tree was learned from these records, so it is less accurate on new ones",
        ),
    ]
    sentences = [
        Sentence(
            "This page shows true counts of your records, so it is private. It is never sent. Do "
            "not give copies to others.",
            "private",
            brief=False,
        ),
        Sentence(
            f"Class: {numbers['target']} ({', '.join(numbers['classes'])}). Attributes:"
            f" {', '.join(numbers['attributes'])}."
        ),
        *(Sentence(words, "alarm") for words in _alarms(now, after["smallest_path"])),
        *(Sentence(words, "warning") for words in _cautions(now, losses)),
    ]
    return Section(facts=facts, sentences=sentences)


def _alarms(now: PreparedTree, smallest: int) -> Iterator[str]:
    section = now.chosen.section
    if section.private is None and section.required is None:
        people = "a single record" if smallest == 1 else f"{smallest:,} records"
        yield f"{UNPROTECTED} The smallest path in this tree has {people}."


def _cautions(now: PreparedTree, losses: Losses | None) -> Iterator[str]:
    yield from left_out(now, "tree")
    yield from _beyond_ranges(now)
    yield from refusals(losses)


def _beyond_ranges(now: PreparedTree) -> Iterator[str]:
    chosen = now.chosen
    declared = {a.column for a in chosen.section.attributes if a.declared}
    for attribute in chosen.schema.attributes:
        if not isinstance(attribute, NumericAttribute):
            continue
        column = chosen.columns.table[attribute.name]
        assert isinstance(column, NumericColumn)  # noqa: S101 - the schema guarantees it
        low, high = attribute.low, attribute.high
        beyond = int(np.count_nonzero((column.values < low) | (column.values > high)))
        if attribute.name not in declared:
            yield (
                f"The range of {attribute.name}, {low:g} to {high:g}, is released. It comes from "
                "the table and is rounded outward. To avoid this, declare low and high."
            )
        elif beyond:
            yield (
                f"{beyond:,} values of {attribute.name} lie outside its range of {low:g} to"
                f" {high:g} and count as the nearer limit."
            )


def _compared(numbers: Row) -> Section:
    before, after = numbers["before"], numbers["after"]
    rows: list[Row] = [
        {"what": what, "name": name, "write": write}
        for what, name, write in (
            ("paths", "leaves", count),
            ("splits on the longest path", "depth", count),
            ("your records on the smallest path", "smallest_path", count),
            ("correct, of your own records", "accuracy_on_own_records", percent),
        )
    ]
    columns = [Column("", lambda row: row["what"], number=False)]
    if before is not None:
        columns.append(Column("no requirement", lambda row: row["write"](before[row["name"]])))
    columns.append(Column("to be sent", lambda row: row["write"](after[row["name"]])))
    majority = percent(numbers["most_frequent_class"])
    sentences = [f"Always predicting the most frequent class would be correct for {majority}."]
    if given := numbers["given_up"]:
        sentences.append(
            f"Without the requirement, {given['paths_that_did_not_meet_it']:,} of"
            f" {before['leaves']:,} paths would violate it."
        )
    unseen = "On unseen records, a tree without the requirement is less accurate than shown here."
    title = "The tree" if before is None else "With and without the requirement"
    notes = [] if before is None else [unseen]
    return Section(title, [" ".join(sentences)], Table(columns, rows), notes=notes)


def _tree(tree: SharedTree) -> Iterator[Section]:
    title = "The tree to be sent"
    picture = Picture(title, lambda: draw_shared_tree(tree).svg())
    yield Section(title, pictures=[picture], minor=True, brief=False)
    yield Section(
        text=write_shared_tree_text(tree, most_lines=MOST_LINES), folded="The same as text"
    )


def _figures(now: PreparedTree, tree: SharedTree) -> dict[str, Any]:
    chosen = now.chosen
    places, leaves = tree.leaf_of(chosen.attributes), tree.leaves
    labels = np.array([leaf.label for leaf in leaves])
    return {
        "leaves": len(leaves),
        "depth": tree.depth,
        "smallest_path": int(np.bincount(places, minlength=len(leaves)).min()),
        "accuracy_on_own_records": float(np.mean(labels[places] == chosen.classes)),
    }
