"""Every number of the threat model is computed by a test it names; these are the small ones."""

from __future__ import annotations

import math
import re
from base64 import urlsafe_b64decode

import pytest

from miner_service.store.credentials import new_credential
from owner_agent.release.populations import SKETCH_RECORDS, TOLERATED_SHARE
from owner_agent.report.measures import ALARMING
from owner_agent.site.channels import CyclicSpec
from owner_agent.site.sections import PeerSection
from owner_agent.state.keys import KEY_LENGTH
from owner_agent.state.private_files import FILE_MODE
from owner_agent.table.proposing import FEWEST_RECORDS
from pramana.setups import CHANNELS, DOMAIN, OWNERS
from pramana_core.channels import Symmetric
from pramana_core.estimation.plausibility import RATE
from pramana_core.privacy import Amplification
from pramana_core.report.numbers import belief
from pramana_core.wire.base import KEY_BYTES
from tests.places import ROOT

PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(test_\w+)`")
FIGURE = re.compile(r"(?<![\w.#-])\d[\d,.]*(?:e-\d+)?(?: %)?")
HARMLESS = re.compile(r"HMAC-SHA-256|\(\[[^]]*\]\([^)]*\)\)|gamma of 1\b")


def paragraphs() -> list[str]:
    """Return every paragraph and every item of a list, each with its lines joined."""
    parts = re.split(r"\n\s*\n|\n(?=\* |\| )", PAGE)
    return [" ".join(part.split()) for part in parts]


def names_of_tests() -> set[str]:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for source in sources for name in re.findall(r"def (test_\w+)\(", source)}


def test_every_test_that_the_page_names_is_there():
    named = set(NAMED.findall(PAGE))
    assert len(named) > 30
    assert named <= names_of_tests()


def test_every_number_of_the_page_stands_beside_a_test():
    bare = [
        part
        for part in paragraphs()
        if FIGURE.search(HARMLESS.sub("", NAMED.sub("", part))) and not NAMED.search(part)
    ]
    assert bare == []


def said(name: str) -> str:
    """Return the paragraphs that name a test: what it must find there."""
    found = " ".join(part for part in paragraphs() if f"`{name}`" in part)
    assert found
    return found


def percent(probability: float, digits: int = 1) -> str:
    return f"{100 * probability:.{digits}f} %"


def of_gamma(gamma: float) -> Amplification:
    return Amplification.of_gamma(gamma)


def test_figures_of_the_demonstration():
    each = {
        name: Amplification.of(CyclicSpec.model_validate(channel).transition((DOMAIN[name],)))
        for name, channel in CHANNELS.items()
    }
    least, most = min(each.values()), max(each.values())
    owners = [
        Amplification(math.fsum(each[name].epsilon for name in names if name in each))
        for names in OWNERS.values()
    ]
    study = Amplification(math.fsum(owner.epsilon for owner in owners))
    text = said("test_figures_of_the_demonstration")
    assert len(each) == 8
    assert f"between {least.gamma:g} " in text
    assert f"and {most.gamma:g} (" in text
    for amplification in (least, most):
        assert belief(amplification, 0.05) in text
    first, second, third = sorted(round(owner.gamma) for owner in owners)
    assert f"gammas {first}, {second} and {third}, and" in text
    assert f"{study.gamma:,.0f} (epsilon {study.epsilon:.2f})" in text
    assert percent(study.grown(0.05), 2) in text


def test_figures_of_two_equal_variables():
    alone = Amplification.of(Symmetric.from_gamma(2, 5.0))
    text = said("test_figures_of_two_equal_variables")
    assert percent(alone.grown(0.05)) in text
    assert percent((alone + alone).grown(0.05)) in text


def test_figure_of_the_warning():
    """361 = 19 squared: from 5 % to 95 % odds grow by that."""
    text = said("test_figure_of_the_warning")
    assert f"{ALARMING:.0%}".replace("%", " %") in text
    assert "gamma 361" in text
    assert of_gamma(361).grown(0.05) == pytest.approx(ALARMING, abs=1e-12)


def test_figure_of_the_belief_after_fresh_draws():
    """p = 0.3, 2 % positive, 1 % of the others turn; reports that differ, by Bayes' rule."""
    positive, turned = 0.02, 0.98 * 0.01
    unchanged, corrected = 2 * 0.3 * 0.7, 0.3**2 + 0.7**2
    differing = (1 - turned) * unchanged + turned * corrected
    belief = (positive * unchanged + turned * corrected) / differing
    text = said("test_figure_of_the_belief_after_fresh_draws")
    for share in (belief, positive, positive + turned):
        assert percent(share) in text
    assert f"{percent(unchanged, 0)} of the unchanged" in text
    assert f"{percent(corrected, 0)} of the corrected" in text
    # The pair tells at most the square of gamma 7 / 3.
    assert belief < of_gamma((0.7 / 0.3) ** 2).grown(positive + turned)


def test_figure_of_the_floor():
    assert PeerSection.model_fields["smallest_count"].default == 5
    assert "`smallest_count` (5)" in said("test_figure_of_the_floor")


def test_figure_of_the_fewest_records():
    assert f"fewer than {FEWEST_RECORDS}" in said("test_figure_of_the_fewest_records")


def test_figures_of_the_samples():
    text = said("test_figures_of_the_samples")
    assert f"sample of {SKETCH_RECORDS} pseudonyms" in text
    assert f"{TOLERATED_SHARE:.0%}".replace("%", " %") in text


def test_lengths_of_secrets():
    text = said("test_lengths_of_secrets")
    assert f"{8 * KEY_BYTES} bits of HMAC" in text
    assert f"mode {FILE_MODE:04o}" in text
    assert f"{8 * KEY_LENGTH}-bit key" in text
    secret = urlsafe_b64decode(new_credential("t").text.partition(".")[2] + "=")
    assert f"{8 * len(secret)} bits, stored as hashes" in text


def test_the_rate_of_marks_is_the_stated_one():
    assert f"p <= {RATE}" in said("test_honest_releases_are_marked_at_most_at_the_stated_rate")
