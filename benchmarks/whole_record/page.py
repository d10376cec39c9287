"""The page docs/whole-record.md, written from the results.

Also here:

* Accuracy against epsilon: a small picture for each table, a curve for each learner.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.whole_record.commands import (
    CLASSIFYING,
    GAMMAS,
    LINKING,
    MINING,
    RUNS,
    SPREAD,
    TARGETS,
    read,
    section,
)
from pramana_core.pictures.plots import (
    BLUE,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    RED,
    curve,
    facets,
    picture,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "whole-record.md"
PEERS = Path(__file__).parent / "peers.json"

_HEAD = """# What can be learned under one bound for the whole record

One gamma bounds all that a person's record tells, over all its columns: no report is more than
gamma times as likely under one record as under any other. Epsilon is its logarithm: gamma 5, 19
and 100 are epsilon 1.6, 2.9 and 4.6, and lift a belief of 5 % to at most 21, 50 and 84 %.

Each record reports one small set of its columns, drawn by lot, and withholds the others; the
miner pools what the sets tell ([choosing a plan](choosing-a-plan.md)). The figures are those of
`pramana simulate --design auto`: means of {runs} runs at gamma 19 and of {fewer} at the
others, seed 1, ± their standard deviation, on tables as they are published
([what is done to columns](simulate.md#a-table)). `make whole-record` measures all of it again and
writes this page.

## Classifiers

![Accuracy against epsilon](images/whole-record-accuracy.png)

Each run holds out 30 % of the records; the table says what percentage of them is told right.
*clean* is the same learner on the same records before randomization, *majority* always says the
most frequent class. In the picture dotted lines are the clean figures and the grey line is the
majority. The dashed line needs trust: a curator has all true records and publishes nothing but a
naive Bayes model at the same epsilon (diffprivlib {diffprivlib}, whose naive Bayes is Gaussian
and is given an indicator for each category). For the others nobody need be trusted.

"""


def write(found: Sequence[Mapping[str, Any]]) -> None:
    """Write the page and its pictures."""
    write_text(found)
    results = {one["name"]: one for one in found}
    peers = json.loads(PEERS.read_text(encoding="utf-8"))
    (DOCS / "images" / "whole-record-accuracy.png").write_bytes(
        accuracy(results, peers["naive_bayes"])
    )
    (DOCS / "images" / "whole-record-links.png").write_bytes(links(results))


def write_text(found: Sequence[Mapping[str, Any]]) -> None:
    """Write the page without its pictures."""
    results = {one["name"]: one for one in found}
    peers = json.loads(PEERS.read_text(encoding="utf-8"))
    PAGE.write_text(page(results, peers), encoding="utf-8")


def page(results: Mapping[str, Mapping[str, Any]], peers: Mapping[str, Any]) -> str:
    """Return the text of the page."""
    text = _HEAD.format(runs=RUNS[19], fewer=RUNS[5], diffprivlib=peers["versions"]["diffprivlib"])
    text += "\n".join(_classifying(results)) + "\n"
    text += "\n## The same over three owners\n\n"
    text += (
        "The columns are dealt out in order to three owners, who share a keyed coin. It says\n"
        "which set a record reports; where a set lies at several owners, each reports its\n"
        "part at a share of the record's epsilon, so that gamma bounds what all three tell\n"
        "together ([an example](vertical-study.md)).\n\n"
    )
    text += "\n".join(_spread(results)) + "\n"
    text += "\n## Itemsets\n\n"
    text += (
        "Row by row, for itemsets of so many items: how many are truly frequent; the mean\n"
        "relative error of the supports of those rightly found; and how many are missed and\n"
        "how many found falsely, relative to those truly frequent. The last three are in\n"
        "percent.\n\n"
    )
    text += "\n".join(_mining(results)) + "\n"
    text += "\n## Structures\n\n![Links](images/whole-record-links.png)\n\n"
    text += (
        "Records are drawn from published networks. Links are those between two variables in\n"
        "either direction: missing, wrong (there is none), and reversed; KL is the\n"
        "Kullback-Leibler distance from the true network in nats. The last column is the same\n"
        "search on the clean records.\n\n"
    )
    text += "\n".join(_linking(results)) + "\n"
    text += "\n## Every learner on published networks\n\n" + section(read())
    text += "\n## Margins, beside other tools at the same epsilon\n\n"
    text += (
        "The mean absolute error of single categories' shares, in percent of all records (adult,\n"
        "15 columns). In multi-freq-ldpy"
        f" {peers['versions']['multi_freq_ldpy']} each record reports one column (SMP), or all\n"
        "but one of them faked (RS+FD); ours is the plan designed for counts.\n\n"
    )
    text += "\n".join(_margins(peers)) + "\n"
    return text


def _percent(value: Mapping[str, float | None] | None) -> str:
    if value is None or value["mean"] is None:
        return "-"
    spread = "" if value["sd"] is None else f" ± {100 * value['sd']:.1f}"
    return f"{100 * value['mean']:.1f}{spread}"


def _cell(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "-"
    return "refused" if "refused" in found else _percent(found["accuracy"])


def _classifying(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    columns = [f"gamma {g}" for g in GAMMAS]
    yield f"| table | learner | {' | '.join(columns)} | clean | majority |"
    yield "| --- | --- |" + " ---: |" * (len(GAMMAS) + 2)
    for table in TARGETS:
        labels = dict.fromkeys(s.label for s in CLASSIFYING if s.source == table)
        for label in labels:
            found = [results.get(f"{table}, {label}, gamma {g}") for g in GAMMAS]
            known = next((f for f in found if f and "accuracy" in f), None)
            last = [_percent(known and known[key]) for key in ("clean_accuracy", "majority")]
            yield f"| {table} | {label} | {' | '.join([*map(_cell, found), *last])} |"


def _spread(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield "| table | naive Bayes, gamma 19 over all owners | clean | majority |"
    yield "| --- | ---: | ---: | ---: |"
    for setting in SPREAD:
        found = results.get(setting.name)
        if found is None or "refused" in found:
            yield f"| {setting.source} | {_cell(found)} | - | - |"
        else:
            keys = ("accuracy", "clean_accuracy", "majority")
            yield f"| {setting.source} | {' | '.join(_percent(found[k]) for k in keys)} |"


def _mining(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield "| table | gamma | items | frequent | support error | missed | false |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for setting in MINING:
        found = results.get(setting.name, {})
        what = f"{setting.source}, {setting.label}"
        if "refused" in found:
            yield f"| {what} | {setting.gamma} | refused | | | | |"
        for row in found.get("by_length", ()):
            error = row["support_error_pct"]
            shown = "-" if error is None else f"{error:.1f}"
            wrong = f"{row['false_negative_pct']:.1f} | {row['false_positive_pct']:.1f}"
            counted = f"{row['length']} | {row['frequent']:.0f}"
            yield f"| {what} | {setting.gamma} | {counted} | {shown} | {wrong} |"


def _linking(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield "| network | gamma | links | missing | wrong | reversed | KL | clean: missing, wrong |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for setting in LINKING:
        found = results.get(setting.name, {})
        what = f"{setting.source}, {setting.label.removeprefix('structure of ')}"
        if "randomized" not in found:
            yield f"| {what} | {setting.gamma} | refused | | | | | |"
            continue
        noisy, clean = found["randomized"], found["clean"]
        kl = "-" if noisy["kl"] is None else f"{noisy['kl']:.3g}"
        errors = " | ".join(f"{noisy[key]:.1f}" for key in ("missing", "extra", "reversed"))
        last = f"{clean['missing']:.1f}, {clean['extra']:.1f}"
        yield f"| {what} | {setting.gamma} | {found['links']} | {errors} | {kl} | {last} |"


def _margins(peers: Mapping[str, Any]) -> Iterator[str]:
    ways = list(next(iter(peers["margins"].values())))
    yield f"| gamma | {' | '.join(ways)} |"
    yield "| ---: |" + " ---: |" * len(ways)
    for gamma, errors in peers["margins"].items():
        yield f"| {gamma} | {' | '.join(f'{100 * errors[w]:.2f}' for w in ways)} |"


# Accuracy against epsilon: a small picture for each table, a curve for each learner.

Results = Mapping[str, Mapping[str, Any]]

COLOURS = {"naive Bayes": BLUE, "auto": GREEN, "tree": ORANGE, "linear": RED}
_EPSILONS = [math.log(gamma) for gamma in GAMMAS]


def accuracy(results: Results, ceilings: Mapping[str, Sequence[float]]) -> bytes:
    """Return the picture (PNG) of all tables: accuracy of each learner against epsilon.

    Args:
        results: figures by setting.
        ceilings: the accuracies of a trusted curator's naive Bayes at the same epsilons, by table.
    """

    def draw(figure: Figure) -> None:
        axes = facets(figure, [1.0] * len(TARGETS), 3)
        for axis, table in zip(axes, TARGETS, strict=True):
            _table(axis, table, results, ceilings.get(table, ()))
        axes[0].set_ylabel("right, %")
        axes[3].set_ylabel("right, %")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower right", bbox_to_anchor=(0.98, 0.1), fontsize=9)

    return picture(draw, (10.5, 6.2), "png", "accuracy", dpi=110)


def _table(axis: Axes, table: str, results: Results, ceiling: Sequence[float]) -> None:
    for marker, (label, colour) in zip(MARKERS, COLOURS.items(), strict=False):
        points = [results.get(f"{table}, {label}, gamma {g}", {}) for g in GAMMAS]
        known = [(e, p) for e, p in zip(_EPSILONS, points, strict=True) if "accuracy" in p]
        if not known:
            continue
        means = [100 * p["accuracy"]["mean"] for _, p in known]
        curve(axis, [e for e, _ in known], means, colour, marker, label)
        clean = 100 * known[-1][1]["clean_accuracy"]["mean"]
        axis.axhline(clean, color=colour, linewidth=0.9, linestyle=":")
        majority = 100 * known[-1][1]["majority"]["mean"]
    if ceiling:
        values = [100 * value for value in ceiling]
        curve(axis, _EPSILONS, values, GREY, "x", "trusted curator", "--")
    axis.axhline(majority, color=GREY, linewidth=0.9)
    axis.set_title(table)
    axis.set_xticks(_EPSILONS, [f"{e:.2g}\n({g})" for e, g in zip(_EPSILONS, GAMMAS, strict=True)])
    axis.set_xlabel("epsilon (gamma) of the record")


NETWORK = "child, structure of 50,000 records"


def links(results: Results) -> bytes:
    """Return the picture (PNG) of a structure: missing and wrong links against epsilon."""
    found = [results[f"{NETWORK}, gamma {g}"] for g in GAMMAS]

    def draw(figure: Figure) -> None:
        (axis,) = facets(figure, [1.0], 1)
        for of, label, colour, mark in (
            ("missing", "missing", BLUE, "o"),
            ("extra", "wrong", RED, "s"),
        ):
            curve(axis, _EPSILONS, [f["randomized"][of] for f in found], colour, mark, label)
            clean = sum(f["clean"][of] for f in found) / len(found)
            axis.axhline(clean, color=colour, linewidth=0.9, linestyle=":")
        axis.axhline(found[0]["links"], color=GREY, linewidth=0.9)
        axis.set_title("child: 25 links, 50,000 records")
        axis.set_xticks(
            _EPSILONS, [f"{e:.2g}\n({g})" for e, g in zip(_EPSILONS, GAMMAS, strict=True)]
        )
        axis.set_xlabel("epsilon (gamma) of the record")
        axis.set_ylabel("links")
        axis.legend()

    return picture(draw, (6.0, 3.6), "png", "links", dpi=110)
