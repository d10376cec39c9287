"""An agent that lost all but its keys and tokens, with real processes: nothing leaves unnoticed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from owner_agent.release.outbox import reopen
from pramana_core.wire.parts import decode_part
from pramana_core.wire.privacy import StudyPrivacy

pytestmark = pytest.mark.end_to_end

RECORDS, CORRECTED = 2000, 40
EPSILON = np.log(3)
STATUS = """
[[variables]]
name = "status"
categories = ["no", "yes"]
sensitive = true
channel = { kind = "symmetric", p = 0.75 }
"""
DIFFER = 2 * 0.75 * 0.25
"""How probably two independent reports of one value differ."""
SUSPECT = 1e-6
"""Below this p-value a draw is none of its own. 40 of the records differ more often, 0.625 of them:
that moves the sum by half a standard deviation, so that fresh draws are suspected once in 10^5."""


def _table(corrected: int) -> str:
    rows = (
        f"p{i},{'yes' if i % 4 == 0 or (i % 4 == 1 and i < 4 * corrected) else 'no'}"
        for i in range(RECORDS)
    )
    return "\n".join(["id,status", *rows]) + "\n"


def _reports(state: Path, name: str) -> dict[bytes, int]:
    prepared = reopen(state / "outbox", name)
    manifest = prepared.manifest
    schema = manifest.release_kind.schema_of(manifest.release_kind.read(manifest.content))
    parts = [decode_part(schema, prepared.part(number)) for number in range(len(manifest.parts))]
    return {
        bytes(k): int(c)
        for keys, columns in parts
        for k, c in zip(keys, columns["status"], strict=True)
    }


def _lose_all_but_keys_and_tokens(state: Path) -> None:
    for path in state.iterdir():
        if path.name not in {"keys", "tokens"}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_without_its_memory_it_refuses_until_everything_is_drawn_anew(study, run):
    site = study.add_owner("clinic", _table(0), STATUS)
    state, words = site.parent / ".pramana", ["--json", "--site", str(site)]
    first = json.loads(run("owner_agent", "publish", "--yes", *words).stdout)
    kept = _reports(state, first["name"])
    (site.parent / "table.csv").write_text(_table(CORRECTED), encoding="utf-8")
    _lose_all_but_keys_and_tokens(state)

    for choice in ([], ["--corrections", "keep"], ["--accept-added-loss"]):
        refused = run("owner_agent", "publish", "--yes", *choice, *words)
        assert refused.returncode == 4, refused.stderr
        assert "history-lost" in refused.stderr
        assert "backup" in refused.stderr
        assert "owner-agent new-epoch" in refused.stderr
    assert [release["name"] for release in study.releases()] == [first["name"]]

    begun = json.loads(run("owner_agent", "new-epoch", *words).stdout)
    assert [entry["release"] for entry in begun["counted"]] == [first["name"]]
    assert begun["composed_epsilon"]["status"] == pytest.approx(EPSILON)
    unaccepted = run("owner_agent", "publish", "--yes", *words)
    assert unaccepted.returncode == 2
    assert "epsilon 1.099 would become 2.197" in " ".join(unaccepted.stderr.split())
    second = json.loads(
        run("owner_agent", "publish", "--yes", "--accept-added-loss", *words).stdout
    )
    assert not second["already"]

    ledger = json.loads(run("owner_agent", "ledger", *words).stdout)
    assert ledger["composed_epsilon"]["status"] == pytest.approx(2 * EPSILON)
    told = StudyPrivacy.model_validate(study.admin.get("/v1/studies/trial/privacy"))
    (column,) = told.columns
    assert column.amplification.to_amplification().epsilon == pytest.approx(2 * EPSILON)

    now = _reports(state, second["name"])
    assert now.keys() == kept.keys()
    differing = sum(now[key] != kept[key] for key in kept)
    assert binomtest(differing, RECORDS, DIFFER).pvalue > SUSPECT
    # Control: under the same draws only corrected records differ.
    assert binomtest(CORRECTED, RECORDS, DIFFER).pvalue < SUSPECT

    before = {p.name: p.read_bytes() for p in (state / "outbox" / second["name"]).iterdir()}
    third = json.loads(run("owner_agent", "publish", "--yes", *words).stdout)
    assert (third["already"], third["name"]) == (True, second["name"])
    assert before == {p.name: p.read_bytes() for p in (state / "outbox" / third["name"]).iterdir()}
    assert len(study.releases()) == 2


def test_a_new_agent_of_an_owner_that_published_is_told_by_the_miner(study, run):
    """Everything is lost, the keys too, and the owner is invited once more."""
    site = study.add_owner("clinic", _table(0), STATUS)
    first = json.loads(run("owner_agent", "publish", "--yes", "--json", "--site", str(site)).stdout)
    shutil.rmtree(site.parent / ".pramana")
    for words in (["create"], ["import", "linkage", str(study.root / "linkage.key")]):
        assert run("owner_agent", "keys", *words, "--site", str(site)).returncode == 0
    study.admin._call("DELETE", "/v1/studies/trial/owners/clinic")
    study.join("clinic", site)
    refused = run("owner_agent", "publish", "--yes", "--site", str(site))
    assert refused.returncode == 4, refused.stderr
    assert first["name"] in refused.stderr
    assert len(study.releases()) == 1
