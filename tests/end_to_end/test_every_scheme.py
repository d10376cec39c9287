"""Every scheme the way people use it: a site file, a release over HTTP, a job, estimates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from pramana.demo.run import RestClient
from pramana_core.wire.models import BayesNetMessage

RECORDS = 10_000

SITE = Path(__file__).with_name("every_scheme.toml").read_text(encoding="utf-8")

NAMES = (
    "age", "smokes", "ill", "region", "car", "pet", "sex", "pregnant", "house", "rooms",
    "income", "debt", "vote", "town",
)  # fmt: skip


def people() -> list[dict[str, str]]:
    rng = np.random.default_rng(31)

    def pick(labels: str, *chances: float) -> np.ndarray:
        return rng.choice(labels.split(), RECORDS, p=chances)

    age = pick("young middle old", 0.5, 0.3, 0.2)
    smokes = np.where(rng.random(RECORDS) < np.where(age == "young", 0.5, 0.2), "yes", "no")
    ill = np.where(rng.random(RECORDS) < np.where(smokes == "yes", 0.6, 0.1), "yes", "no")
    car = pick("yes no", 0.6, 0.4)
    pet = np.where(
        car == "yes", pick("cat dog none", 0.5, 0.2, 0.3), pick("cat dog none", *[1 / 3] * 3)
    )
    sex = pick("m f", 0.5, 0.5)
    pregnant = np.where((sex == "f") & (rng.random(RECORDS) < 0.2), "yes", "no")
    house = pick("own rent", 0.4, 0.6)
    rooms = np.where(
        house == "own", pick("1 2 3 4", 0.1, 0.2, 0.3, 0.4), pick("1 2 3 4", 0.4, 0.3, 0.2, 0.1)
    )
    income = pick("low high", 0.7, 0.3)
    debt = np.where(income == "low", pick("yes no", 0.6, 0.4), pick("yes no", 0.2, 0.8))
    columns = (
        age, smokes, ill, pick("n e s w", 0.4, 0.3, 0.2, 0.1), car, pet, sex, pregnant, house,
        rooms, income, debt, pick("a b c", 0.5, 0.3, 0.2),
        pick(" ".join("ABCDEFGHIJKLMNOPQRSTUVWX"), *[0.08] * 8, *[0.0225] * 16),
    )  # fmt: skip
    return [dict(zip(NAMES, map(str, row), strict=True)) for row in zip(*columns, strict=True)]


JOBS = {
    "pooled": {"age": [], "smokes": ["age"], "ill": ["age", "smokes"]},
    "moment": {
        "age": [], "smokes": ["age"], "ill": ["smokes"], "region": [], "car": [], "pet": ["car"],
        "sex": [], "pregnant": ["sex"], "house": [], "rooms": ["house"], "income": [],
        "debt": ["income"], "vote": [], "town": [],
    },
}  # fmt: skip


def learn(analyst: RestClient, spec: dict) -> BayesNetMessage:
    job = analyst.post("/v1/studies/trial/jobs", {"spec": {"kind": "bayes-net-parameters", **spec}})
    done = analyst.wait(f"/v1/jobs/{job['id']}")
    return BayesNetMessage.model_validate(analyst.get(f"/v1/models/{done['model']}"))


@pytest.mark.end_to_end
def test_every_scheme_is_published_and_estimated(learning_study, run):
    """Every estimate within its error of the table's own ratio; false alarm 1e-6 in all.

    Nothing speaks against the plan either.
    """
    study, table = learning_study, people()
    text = [
        "id," + ",".join(NAMES),
        *(f"p{i}," + ",".join(r.values()) for i, r in enumerate(table)),
    ]
    site = study.add_owner("north", "\n".join(text), SITE)
    for words in (["check"], ["plan", "--json"], ["publish", "--yes"]):
        done = run("owner_agent", *words, "--site", str(site))
        assert done.returncode == 0, done.stderr
    (release,) = study.admin.get("/v1/studies/trial/releases")["items"]
    assert release["consistency"]["tables"] > len(NAMES)
    assert release["consistency"]["p_value"] > 1e-6  # false alarm: as much
    columns = {name: np.array([row[name] for row in table]) for name in NAMES}
    distances = []
    for estimator, structure in JOBS.items():
        model = learn(study.admin, {"structure": structure, "estimator": estimator})
        for p in model.parameters:
            among = np.ones(RECORDS, dtype=bool)
            for parent, value in p.parents.items():
                among &= columns[parent] == value
            if p.estimate is None or not p.se or not among.any():
                assert p.parents == {"sex": "m"}, p
                continue
            truth = (columns[p.node] == p.value)[among].mean()
            distances.append(abs(p.estimate - truth) / p.se)
    assert len(distances) > 50
    # Errors three times too large, or too small, would show here.
    assert 0.2 < np.median(distances) < 1.2
    assert max(distances) < stats.norm.isf(0.5e-6 / len(distances))
