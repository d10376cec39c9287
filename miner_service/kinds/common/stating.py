"""What a model's releases tell of one person, said wherever the model is shown."""

from __future__ import annotations

import math

from pramana_core.pictures.svg import captioned
from pramana_core.wire.learning.models import ModelHead


def in_words(model: ModelHead) -> str:
    """Return it in a sentence; nothing of a model that was made before it was recorded."""
    if model.told is None:
        return ""
    told = model.told.to_amplification()
    learned = f"Learned from {model.records:,} records"
    if math.isinf(told.epsilon):
        return f"{learned}; no gamma bounds what these tell of a person."
    return f"{learned}; whole record: {told.told}."


def stated(model: ModelHead, form: str, written: str) -> str:
    """Return a form of a model with the sentence, where it is a picture or text for people."""
    words = in_words(model)
    if not words:
        return written
    if form == "svg":
        return captioned(written, words)
    return f"{written.rstrip()}\n\n{words}\n" if form == "text" else written
