"""A simulation says where reports contradict the model behind their counts."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from pramana.simulate.study import Outcome, Series
from pramana_core.marginals.lack_of_fit import LackOfFit


def test_reports_that_contradict_their_model_are_warned_of():
    contradicted = LackOfFit(("a", "b", "c"), 2, 40.0, 1.0, 1e-9)
    fits = ((contradicted,), (replace(contradicted, p_value=0.5),))
    found = Outcome(SimpleNamespace(), SimpleNamespace(), Series(()), fits)  # type: ignore[arg-type]
    (warned,) = found.warned
    assert warned.startswith("The reports of a, b, c do not fit")
