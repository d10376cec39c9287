"""What simulations say of the pooled tables that reports are read by."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from pramana.simulate.commands.display import note
from pramana.simulate.study import ModelFits
from pramana_core.marginals.score_interval import LackOfFit


def test_reports_that_contradict_their_model_are_warned_of(capsys):
    contradicted = LackOfFit(("a", "b", "c"), 2, 40.0, 1.0, 1e-9)
    fits = ModelFits(((contradicted,), (replace(contradicted, p_value=0.5),)))
    assert fits.as_dict()["lack_of_fit"]["warned"] == 1
    note(SimpleNamespace(source=SimpleNamespace(note="")), fits)
    told = " ".join(capsys.readouterr().out.split())
    assert "Warning (in 1 of 2 runs): The reports of a, b, c do not fit" in told
