"""What of masked values is their records' own, as rows: by the method, which no measure can see."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pramana_core.mask.core.influence import Influence
from pramana_core.mask.measures.core.measure import Measure

NAMES = ("told-largest", "told-mean", "own-weight-largest", "own-weight-mean", "noise-least")


def own_weight_rows(influence: Influence, about: str) -> Iterator[Measure]:
    """Yield a row for the most and for the mean of what is told, of own weights and of noise.

    Args:
        influence: the method's.
        about: how all columns of X are called.
    """
    named = int(np.count_nonzero(influence.exposed))
    told, own = influence.told, influence.weights.max(axis=1)
    noise = float(influence.noises.min())
    records = "one record is" if named == 1 else f"{named:,} records are"
    alone = (
        f"Of the record that stands most alone the masked value tells {_share(told.max())} of"
        f" what S leaves, to whoever knows all others; {records} named for it."
    )
    most = (
        f"The masked value that moves most with its own true one moves by {_share(own.max())}"
        f" of it; of records that are not named, by {_share(influence.stated)}."
    )
    values = (
        (float(told.max()), alone),
        (float(told.mean()), f"On average it tells {_share(told.mean())}."),
        (float(own.max()), most),
        (float(own.mean()), f"On average a masked value moves by {_share(own.mean())}."),
        (noise, f"The record with the least noise has {_share(noise)} of the usual."),
    )
    for name, (value, sentence) in zip(NAMES, values, strict=True):
        alarm = name == "told-largest" and named > 0
        yield Measure(name, "security", about, value, None, sentence, alarm)


def _share(value: float) -> str:
    return f"{100 * value:.1f} per cent"
