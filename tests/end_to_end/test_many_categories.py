"""A column of 5,000 places and one of 300 diagnoses: designed, published and estimated."""

from __future__ import annotations

import json

import numpy as np
import pytest

GROUPS = 50
PLACES, DIAGNOSES = ([f"{kind}{i:04}" for i in range(n)] for kind, n in (("p", 5000), ("d", 300)))
RECORDS = 20_000

SITE = f"""
[[variables]]
name = "place"
categories = {json.dumps(PLACES)}
groups = "places.csv"
sensitive = true

[[variables]]
name = "diagnosis"
categories = {json.dumps(DIAGNOSES)}
groups = {{ {", ".join(f"g{i} = {json.dumps(DIAGNOSES[i::GROUPS])}" for i in range(GROUPS))} }}
sensitive = true
"""


@pytest.mark.end_to_end
def test_places_and_diagnoses_are_designed_published_and_estimated(learning_study, run):
    """The frequent categories are found, within 5 errors of the truth.

    The levels are those of the groups that the custodian states, in a file and in the site file.
    """
    rng = np.random.default_rng(5)
    columns = []
    for labels in (PLACES, DIAGNOSES):
        chances = 1 / np.arange(1, len(labels) + 1)
        columns.append(rng.choice(labels, RECORDS, p=chances / chances.sum()))
    rows = [f"r{i},{p},{d}" for i, (p, d) in enumerate(zip(*columns, strict=True))]
    site = learning_study.add_owner("north", "\n".join(["id,place,diagnosis", *rows]), SITE)
    stated = [f"{place},g{i % GROUPS}" for i, place in enumerate(PLACES)]
    site.with_name("places.csv").write_text("\n".join(["category,group", *stated]))
    design = ["design", "--gamma", "81", "--learn", "counts", "--apply", "--yes"]
    for words in (design, ["plan"], ["publish", "--yes"]):
        done = run("owner_agent", *words, "--site", str(site))
        assert done.returncode == 0, done.stderr
    assert site.read_text(encoding="utf-8").count('kind = "subset"') == 2
    admin = learning_study.admin
    for name, labels, true in zip(
        ("place", "diagnosis"), (PLACES, DIAGNOSES), columns, strict=True
    ):
        groups = {f"g{i}": labels[i::GROUPS] for i in range(GROUPS)}
        spec = {"kind": "contingency-table", "variables": [name]}
        job = admin.post("/v1/studies/trial/jobs", {"spec": spec})
        done = admin.wait(f"/v1/jobs/{job['id']}")
        model = admin.get(f"/v1/models/{done['model']}")
        assert model["spec"]["groups"] == groups
        cells = {cell["values"][name]: cell for cell in model["cells"]}
        assert len(cells) == len(labels)
        for label in labels[:3]:
            off = cells[label]["count"] - (true == label).sum()
            assert abs(off) < 5 * cells[label]["se_records"]
            assert cells[label]["interval"][0] > 0
        outer = [row for row in model["levels"] if row["level"] == 1]
        assert sum(row["count"] for row in outer) == pytest.approx(RECORDS)
        assert len(model["levels"]) < GROUPS + len(labels) / 4
        pooled = [row for row in model["levels"] if row["pooled"]]
        assert sum(row["categories"] for row in pooled) > len(labels) / 2
        for row, group in zip(outer, groups.values(), strict=True):
            assert abs(row["count"] - np.isin(true, group).sum()) < 5 * row["se_records"]


@pytest.mark.end_to_end
@pytest.mark.slow
def test_a_pair_is_reported_in_subsets_and_estimated(learning_study, run):
    """The raw counts of all 240 cells differ from the truth by their errors."""
    rng = np.random.default_rng(8)
    labels = {"ward": [f"w{i:02}" for i in range(24)], "drug": [f"d{i}" for i in range(10)]}
    ward = rng.choice(24, RECORDS, p=(chances := 1 / np.arange(1, 25)) / chances.sum())
    drug = np.where(rng.random(RECORDS) < 0.5, ward % 10, rng.integers(0, 10, RECORDS))
    rows = [f"r{i},w{w:02},d{d}" for i, (w, d) in enumerate(zip(ward, drug, strict=True))]
    parts = [
        f'[[variables]]\nname = "{name}"\ncategories = {json.dumps(own)}\nsensitive = true\n'
        for name, own in labels.items()
    ]
    table = "\n".join(["id,ward,drug", *rows])
    site = learning_study.add_owner("north", table, "\n".join(parts))
    design = ["design", "--gamma", "5", "--learn", "pairs", "--apply", "--yes"]
    for words in (design, ["plan"], ["publish", "--yes"]):
        done = run("owner_agent", *words, "--site", str(site))
        assert done.returncode == 0, done.stderr
    assert 'report = "subset"' in site.read_text(encoding="utf-8")
    admin = learning_study.admin
    spec = {"kind": "contingency-table", "variables": ["ward", "drug"]}
    job = admin.post("/v1/studies/trial/jobs", {"spec": spec})
    done = admin.wait(f"/v1/jobs/{job['id']}")
    model = admin.get(f"/v1/models/{done['model']}")
    assert model["spec"]["estimator"] == "pooled"
    true = np.bincount(ward * 10 + drug, minlength=240)
    errors = np.array([cell["se_records"] for cell in model["cells"]])
    off = (np.array([cell["count"] for cell in model["cells"]]) - true) / errors
    # The mean of 239 squares has a standard error of .09.
    assert 0.6 < np.square(off).mean() < 1.4
