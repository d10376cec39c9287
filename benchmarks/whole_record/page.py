"""The page docs/whole-record.md, written from the results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.whole_record import pictures
from benchmarks.whole_record.settings import (
    CLASSIFYING,
    GAMMAS,
    LINKING,
    MINING,
    RUNS,
    SPREAD,
    TARGETS,
)

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "whole-record.md"
PEERS = Path(__file__).parent / "peers.json"

_HEAD = """# What can be learned under one bound for the whole record

Everything that one person's record tells, over all its columns, is bounded by one gamma: no report
is more than gamma times as likely under one record than under any other (epsilon is its logarithm).
Each record reports one small set of its columns, drawn by lot, and withholds the others; the miner
pools the sets. The figures are those of `pramana simulate` with `--design auto`, {runs} runs each,
seed 1; tables are taken as they are. `make whole-record` measures all of this again and writes this
page. gamma 5, 19 and 100 are epsilon 1.6, 2.9 and 4.6; at gamma 19 a belief of 5 % cannot grow
beyond 50 %.

## Classifiers

![Accuracy against epsilon](images/whole-record-accuracy.png)

Percent right of the 30 % of the records held out; *clean* is the same learner on the same records
before randomization; *majority* always says the most frequent class. Dotted lines in the picture
are the clean figures, the grey line the majority. The dashed one is a curator whom everybody trusts
with the true records and who publishes only a naive Bayes model at the same epsilon (diffprivlib
{diffprivlib}, whose naive Bayes is Gaussian and is given an indicator for each category); nobody
need be trusted for the others.

"""


def write(found: Sequence[Mapping[str, Any]]) -> None:
    """Write the page and its pictures."""
    results = {one["name"]: one for one in found}
    peers = json.loads(PEERS.read_text(encoding="utf-8"))
    (DOCS / "images" / "whole-record-accuracy.png").write_bytes(
        pictures.accuracy(results, peers["naive_bayes"])
    )
    (DOCS / "images" / "whole-record-links.png").write_bytes(pictures.links(results))
    PAGE.write_text(page(results, peers), encoding="utf-8")


def page(results: Mapping[str, Mapping[str, Any]], peers: Mapping[str, Any]) -> str:
    """Return the text of the page."""
    text = _HEAD.format(runs=RUNS, diffprivlib=peers["versions"]["diffprivlib"])
    text += "\n".join(_classifying(results)) + "\n"
    text += "\n## The same over three owners\n\n"
    text += (
        "The columns are dealt out to three owners, who share a keyed coin: it says which set a\n"
        "record reports, and sets over several owners go in shares of the record's epsilon.\n\n"
    )
    text += "\n".join(_spread(results)) + "\n"
    text += "\n## Itemsets\n\n"
    text += (
        "By the number of items: how many are truly frequent, the mean relative error of the\n"
        "supports of those rightly found, those missed and those found falsely, all in percent.\n\n"
    )
    text += "\n".join(_mining(results)) + "\n"
    text += "\n## Structures\n\n![Links](images/whole-record-links.png)\n\n"
    text += "\n".join(_linking(results)) + "\n"
    text += "\n## Margins, beside other tools at the same epsilon\n\n"
    text += (
        "The mean absolute error of single categories' shares, in percent of all records (adult,\n"
        "15 columns): each record reports one column (SMP) or fakes all but one (RS+FD) in\n"
        f"multi-freq-ldpy {peers['versions']['multi_freq_ldpy']}, and is\n"
        "designed for counts here.\n"
        "\n"
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
