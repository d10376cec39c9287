"""Publishing under a study's plan: the miner's must be the approved one before anything leaves."""

import math

import numpy as np
import pytest

from owner_agent.randomize.draws import coins, pseudonyms
from owner_agent.release.composition import spent
from owner_agent.release.ledger import Ledger
from owner_agent.state.keys import KeyStore
from pramana_core.errors import StudyPlanNotFollowed
from tests.owner_agent.release.publishing import drawn_anew, published, reports_of
from tests.owner_agent.site.plans import PLAN, follow, study_plan


@pytest.fixture
def agreed(bench):
    """The bench, following the plan that its miner has."""
    follow(bench, digest=PLAN.digest)
    bench.miner.study_plan = PLAN
    return bench


def test_a_release_follows_the_plan_and_its_coin(agreed):
    published(agreed)
    (release,) = agreed.miner.sealed()
    assert not list(PLAN.departures("clinic-north", release["manifest"].plan.to_plan()))
    found = reports_of(release)
    secrets = KeyStore(agreed.state).load()
    keys = pseudonyms(secrets, "asia", [f"PATIENT-{i:05d}" for i in range(50)])
    coin = coins(secrets, "asia", PLAN.digest, keys)
    expected = np.searchsorted([1 << 30, 1 << 31], coin, side="right")
    for key, choice in zip(keys, expected, strict=True):
        smoker, age, _ = found[bytes(key)]
        assert (smoker < 2, age < 5) == ((True, True), (False, True), (False, False))[choice]
    # A column of the part costs what the part may tell, whatever is withheld of it.
    assert spent(Ledger(agreed.state).entries()) == pytest.approx(
        {"smokes": math.log(9), "age": math.log(9), "region": math.inf}, rel=1e-6
    )


def nothing_left(bench):
    return not bench.miner.releases and {e.state for e in Ledger(bench.state).entries()} <= {
        "prepared"
    }


def test_another_plan_at_the_miner_stops_the_release(agreed):
    agreed.miner.study_plan = study_plan(first=1)
    with pytest.raises(StudyPlanNotFollowed):
        published(agreed)
    assert nothing_left(agreed)
    agreed.miner.study_plan = PLAN
    published(agreed)
    assert agreed.miner.sealed()


def test_a_miner_without_the_plan_would_hold_nobody_to_it(agreed):
    agreed.miner.study_plan = None
    with pytest.raises(StudyPlanNotFollowed):
        published(agreed)
    assert nothing_left(agreed)


def test_a_site_that_follows_no_plan_is_told_of_the_studys(bench):
    bench.miner.study_plan = PLAN
    with pytest.raises(StudyPlanNotFollowed):
        published(bench)
    assert nothing_left(bench)


# Corrections -------------------------------------------------------------------------------------


def corrected(bench):
    """Correct all smokers; return the records that reported it, by the coin."""
    before = reports_of(bench.miner.sealed()[0])
    table = (bench.folder / "patients.csv").read_text()
    bench.write((bench.folder / "site.toml").read_text(), table.replace(",yes,", ",no,"))
    return {key for key, report in before.items() if report[0] < 2}


def test_a_correction_of_what_is_not_reported_is_no_correction(agreed):
    """Whoever corrects a withheld value neither draws anew nor is asked what to do."""
    published(agreed)
    withheld = [k for k, r in reports_of(agreed.miner.sealed()[0]).items() if r[0] == 2]
    secrets = KeyStore(agreed.state).load()
    ids = [f"PATIENT-{i:05d}" for i in range(50)]
    keys = pseudonyms(secrets, "asia", ids)
    names = {bytes(key): name for key, name in zip(keys, ids, strict=True)}
    lines = (agreed.folder / "patients.csv").read_text().splitlines()
    unseen = {names[key] for key in withheld}
    changed = [
        line.replace(",yes,", ",no,") if line.split(",")[0] in unseen else line for line in lines
    ]
    assert changed != lines
    agreed.write((agreed.folder / "site.toml").read_text(), "\n".join(changed) + "\n")
    assert published(agreed).already


def test_draws_of_a_new_epoch_are_of_the_same_sets_and_add(agreed):
    published(agreed)
    first = reports_of(agreed.miner.sealed()[0])
    corrected(agreed)
    drawn_anew(agreed)
    second = reports_of(agreed.miner.sealed()[1])
    assert second != first
    assert {k: (s < 2, a < 5) for k, (s, a, _) in first.items()} == {
        k: (s < 2, a < 5) for k, (s, a, _) in second.items()
    }
    told = spent(Ledger(agreed.state).entries())
    assert told["smokes"] == pytest.approx(2 * math.log(9), rel=1e-6)
