"""The attack on a status that only ever goes from no to yes: whose two reports differ?

200,000 records, the status reported wrongly with p = 0.3, 2 % of them positive. Between two
releases 1 % of the others turn positive; the attacker compares both reports of each record.
"""

from __future__ import annotations

import io

import numpy as np
import pytest

from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import randomize
from owner_agent.release.corrections import ReleaseHistory, overlay_reported
from owner_agent.release.memory import Memory
from owner_agent.state.keys import Secrets
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan

SECRETS = Secrets(draw=bytes(range(1, 33)), linkage=bytes(range(2, 34)))
RECORDS = 200_000
P = 0.3
PLAN = Plan((Block((Variable("status", ("no", "yes")),), Symmetric.from_probability(2, P)),))

pytestmark = pytest.mark.calibration


@pytest.fixture(scope="module")
def statuses():
    """The status at the first and at the second release."""
    rng = np.random.default_rng(11)
    first = rng.random(RECORDS) < 0.02
    return first, first | (rng.random(RECORDS) < 0.01)


def remembered(past, settled):
    """Return the memory with what was settled."""
    file, made = io.BytesIO(), settled.randomized
    past.memory.write(file, made.keys, settled.reports, made.digest)
    return Memory(file)


def both_reports(statuses, choice):
    """Return both releases' reports, in the order of the records; `choice` None is how it was."""
    keys = pseudonyms(SECRETS, "asia", (f"p{i}" for i in range(RECORDS)))
    order = np.argsort(keys.view("S16"))
    memory, made = Memory(), []
    for truth in statuses:
        columns = {"status": truth.astype(np.uint8)}
        if choice is None:
            reports = randomize(PLAN, SECRETS, "asia", keys, columns)
        else:
            anew = choice == "anew" and bool(made)
            past = ReleaseHistory(None, (), Memory() if anew else memory, "asia", 7 * anew)
            drawn = randomize(PLAN, SECRETS, "asia", keys, columns, past.beginning)
            settled = overlay_reported(drawn, past.identities(PLAN, SECRETS), past)
            memory = remembered(past, settled)
            reports = settled.randomized
        column = np.empty(RECORDS, np.uint8)
        column[order] = reports.columns["status"]
        made.append(column)
    return made


def test_control_as_it_was_a_differing_report_proved_the_status(statuses, assert_distribution):
    """Every record with differing reports is positive, and more than half of the corrected are."""
    first, second = both_reports(statuses, None)
    differing = first != second
    assert statuses[1][differing].all()
    corrected = statuses[0] != statuses[1]
    found = int(differing[corrected].sum())
    # Two independent draws of different values differ with (1-p)^2 + p^2 = 58 %.
    expected = np.array([0.58, 0.42]) * corrected.sum()
    assert_distribution([found, corrected.sum() - found], expected)


def test_kept_reports_tell_nothing_of_the_correction(statuses):
    first, second = both_reports(statuses, "keep")
    assert np.array_equal(first, second)


def test_reports_of_two_epochs_differ_as_often_whoever_changed(statuses, assert_distribution):
    """Of the unchanged 42 % differ and of the corrected 58 %: a likelihood ratio of 1.38."""
    first, second = both_reports(statuses, "anew")
    differing = first != second
    corrected = statuses[0] != statuses[1]
    for who, share in ((~corrected, 0.42), (corrected, 0.58)):
        found = int(differing[who].sum())
        assert_distribution([found, who.sum() - found], np.array([share, 1 - share]) * who.sum())
