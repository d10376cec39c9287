"""l-diversity data publishing by anjana, as a process: a request on standard input, an answer out.

    PYTHON anjana_worker.py < request.json > answer.json

Runs where anjana is installed (`make publishing-peer`), apart from ours; imports nothing of ours.

The request has `codes` (the base values of each attribute, by name), `classes` (the class codes),
`levels` (by name, for each level the name of each base value, no name at two levels) and
`requirements`, each with k, c and l, null where nothing is required. The answer has `version` and
`published`: for each requirement the level of each attribute, or null where there is nothing.

anjana's own function for recursive (c, l)-diversity is not used. It measures with pycanon (1.3.5),
which sorts the classes of a group ascending, where the definition (Machanavajjhala et al. 2006) has
them descending: c is then floor(r_1 / (r_l + ... + r_m)) + 1 with the smallest class as r_1, never
above 2; and anjana (1.2.3) generalizes until that c is at least, not at most, the one asked for.
Ten records show it: zone north has 3 of class a and 2 of b, and south has, too; zones can be
generalized to one. For c = 2, l = 2 the records meet the definition as they are (3 < 2 * 2), and
nothing comes back; for c = 1 they do not at either level (3 < 2 and 6 < 4 are false), and the
records come back as they are. So its l-diversity makes the table, and the same walk goes on, by its
own steps, until each group meets (c, l).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import sys
from typing import Any

import numpy as np
import pandas as pd
from anjana.anonymity import l_diversity
from anjana.anonymity.utils import utils

CLASS = "class of the record"


def meets(frame: Any, names: list[str], c: float | None, l: int | None) -> bool:  # noqa: E741
    """Return whether d_1 < c (d_l + d_(l+1) + ...) in each group that looks alike."""
    if c is None or l is None:
        return True
    counts = frame.groupby(names)[CLASS].value_counts().unstack(fill_value=0).to_numpy()
    ranked = -np.sort(-counts, axis=1)
    return bool(np.all(ranked[:, 0] < c * ranked[:, l - 1 :].sum(axis=1)))


def further(frame: Any, names: list[str], hierarchies: Any, levels: dict[str, int]) -> bool:
    """Generalize by one step as anjana does: the attribute with the most values left."""
    left = [name for name in names if levels[name] < len(hierarchies[name]) - 1]
    if not left:
        return False
    name = left[int(np.argmax([frame[other].nunique() for other in left]))]
    levels[name] += 1
    frame[name] = utils.apply_hierarchy(frame[name].to_numpy(), hierarchies[name], levels[name])
    return True


def published(
    diverse: Any, names: list[str], hierarchies: Any, asked: dict[str, Any]
) -> dict[str, int] | None:
    """Return the level of each attribute of the published table, or None.

    `diverse` is the table that anjana's l-diversity made, empty if it could not.
    """
    if not len(diverse):
        return None
    made = diverse.copy()
    levels = utils.check_gen_level(made, names, hierarchies)
    while not meets(made, names, asked.get("c"), asked.get("l")):
        if not further(made, names, hierarchies, levels):
            return None
    return {name: int(levels[name]) for name in names}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request."""
    names = list(request["codes"])
    hierarchies = {
        name: {place: np.array(level, dtype=object) for place, level in enumerate(levels)}
        for name, levels in request["levels"].items()
    }
    columns = {name: hierarchies[name][0][codes] for name, codes in request["codes"].items()}
    frame = pd.DataFrame({**columns, CLASS: [f"class {code}" for code in request["classes"]]})
    found, diverse = [], {}
    with contextlib.redirect_stdout(io.StringIO()):
        for one in request["requirements"]:
            k, l = int(one.get("k") or 1), int(one.get("l") or 1)  # noqa: E741
            if (k, l) not in diverse:
                diverse[k, l] = l_diversity(frame.copy(), [], names, CLASS, k, l, 0, hierarchies)
            found.append(published(diverse[k, l], names, hierarchies, one))
    return {"version": importlib.metadata.version("anjana"), "published": found}


if __name__ == "__main__":
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
