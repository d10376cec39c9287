"""Owner -> HTTP -> store -> counts -> model, with real processes."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from owner_agent.randomize.draws import pseudonyms
from owner_agent.state.keys import KeyStore, Secrets
from pramana.demo.run import learn
from tests.end_to_end.conftest import killed_in_mid_upload, outbox_of

pytestmark = pytest.mark.end_to_end

STRUCTURE = {"city": [], "smokes": ["city"], "ill": ["smokes"]}
CHANNEL = '{ kind = "symmetric", gamma = 5.0 }'


def rows(table: str) -> dict[str, dict[str, str]]:
    return {row["id"]: row for row in csv.DictReader(io.StringIO(table))}


def test_without_randomization_the_model_is_the_exact_one(learning_study, tables, variables, run):
    """The identity plan: every count equals the true count, so every parameter its true ratio."""
    study = learning_study
    for owner in tables:
        site = study.add_owner(owner, tables[owner], variables(owner, None))
        done = run("owner_agent", "publish", "--yes", "--part-records", "700", "--site", str(site))
        assert done.returncode == 0, done.stderr
    alignment = study.admin.get("/v1/studies/trial/alignment")
    assert (alignment["state"], alignment["in_all"], alignment["in_any"]) == (
        "identical",
        3000,
        3000,
    )
    model = learn(study.admin, "trial", STRUCTURE)
    north, south = rows(tables["north"]), rows(tables["south"])
    joint = Counter((north[i]["city"], north[i]["smokes"], south[i]["ill"]) for i in north)
    ill = Counter()
    for (_, smokes, is_ill), count in joint.items():
        ill[smokes, is_ill] += count
    found = {(p.node, p.value, *p.parents.values()): p for p in model.parameters}
    for smokes in ("yes", "no"):
        total = ill[smokes, "yes"] + ill[smokes, "no"]
        parameter = found["ill", "yes", smokes]
        assert parameter.estimate == pytest.approx(ill[smokes, "yes"] / total, abs=1e-14)
        assert parameter.se_records == 0
    assert model.records == 3000


def sealed_table(study) -> pa.Table:
    """The one sealed release's columns as they lie on the miner's disk."""
    sealed = [p for p in (study.root / "miner").rglob("*.arrow") if "part" not in p.name]
    assert len(sealed) == 1
    with pa.memory_map(str(sealed[0])) as source:
        return pa.ipc.open_file(source).read_all()


def test_a_killed_upload_resumes_with_identical_bytes(study, tables, variables, run, tmp_path):
    """kill -9 in mid-upload, then publish again: the same sealed release, byte for byte."""
    site = study.add_owner("south", tables["south"], variables("south", CHANNEL))
    words = ["publish", "--yes", "--part-records", "100", "--site", str(site)]
    killed_in_mid_upload(study, 12, *words)
    (release,) = study.releases()
    assert (release["state"], len(release["parts_received"])) == ("open", 12)
    assert len(outbox_of(site)) == 30, (
        "the whole release lay in the outbox before the first byte left"
    )
    done = run("owner_agent", *words)
    assert done.returncode == 0, done.stderr
    release = study.releases()[0]
    assert (len(study.releases()), release["state"]) == (1, "sealed")
    interrupted, digest = sealed_table(study), release["digest"]

    # An owner with the same table and keys that is never interrupted, in a study of its own.
    home = tmp_path / "twin"
    home.mkdir()
    for name in ("table.csv", "site.toml"):
        (home / name).write_bytes((site.parent / name).read_bytes())
    for name in ("draw", "linkage"):
        # As if made there: what is imported draws in an epoch of its own.
        KeyStore(home / ".pramana").add(name, KeyStore(site.parent / ".pramana").read(name))
    twin_site = home / "site.toml"
    twin_site.write_text(twin_site.read_text().replace('owner = "south"', 'owner = "twin"'))
    study.join("twin", twin_site)
    done = run("owner_agent", "publish", "--yes", "--part-records", "100", "--site", str(twin_site))
    assert done.returncode == 0, done.stderr
    twin = next(r for r in study.releases() if r["owner"] == "twin")
    assert twin["digest"] == digest
    files = sorted(p for p in (study.root / "miner").rglob("*.arrow") if "part" not in p.name)
    assert len(files) == 2
    assert files[0].read_bytes() == files[1].read_bytes()
    assert interrupted.num_rows == 3000


def reports_of_ill(study) -> np.ndarray:
    return sealed_table(study).column("ill").to_numpy()


def true_ill(study, site: Path, table: str, study_name: str = "trial") -> np.ndarray:
    """The true codes in the order of the pseudonyms, which only the owner can make."""
    folder = site.parent / ".pramana" / "keys"
    draw, linkage = (bytes.fromhex((folder / f"{n}.key").read_text()) for n in ("draw", "linkage"))
    people = rows(table)
    keys = pseudonyms(Secrets(draw, linkage), study_name, people)
    order = np.argsort([bytes(key) for key in keys])
    codes = np.array([0 if p["ill"] == "yes" else 1 for p in people.values()])
    return codes[order]


@pytest.mark.parametrize("channel", [CHANNEL, None])
def test_no_true_value_of_a_sensitive_column_leaves_the_site(
    study, tables, variables, run, channel: str | None, assert_distribution
):
    """No record id is anywhere at the miner's, and reports differ from the truth as declared.

    The same look at a column that is not randomized (the negative control) finds the truth.
    """
    table = tables["south"].replace("\np", "\nperson-of-the-south-")
    site = study.add_owner("south", table, variables("south", channel))
    done = run("owner_agent", "publish", "--yes", "--site", str(site))
    assert done.returncode == 0, done.stderr
    stored = b"".join(p.read_bytes() for p in (study.root / "miner").rglob("*") if p.is_file())
    logs = b"".join(p.read_bytes() for p in study.root.glob("logs/*"))
    everything = stored + logs + (done.stdout + done.stderr).encode()
    assert b"person-of-the-south" not in everything
    assert (site.parent / ".pramana/keys/draw.key").read_bytes().strip() not in everything
    truth, reports = true_ill(study, site, table), reports_of_ill(study)
    if channel is None:
        assert np.array_equal(truth, reports)
        return
    assert_distribution(
        np.bincount(2 * truth + reports, minlength=4),
        np.repeat(np.bincount(truth), 2) * np.array([5 / 6, 1 / 6, 1 / 6, 5 / 6]),
    )
