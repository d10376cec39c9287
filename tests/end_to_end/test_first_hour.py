"""Three owners and an analyst, from their tables to sealed releases: by commands alone, counted."""

from __future__ import annotations

import json
import secrets

import pytest

from pramana.demo.run import RestClient
from tests.end_to_end.test_vertical_study import CATEGORIES, OWNERS, TRAINED, design_of, ended

pytestmark = pytest.mark.end_to_end

MOST = 14
"""Commands, with `serve`, which the fixture ran."""


@pytest.fixture
def typed(run):
    """Run a command, and count it."""
    typed = ["miner-service serve"]

    def call(module, *words, code=0):
        typed.append(f"{module} {words[0]}")
        return ended(run(module, *map(str, words)), code)

    call.typed = typed
    return call


def test_from_three_tables_to_three_sealed_releases_in_few_commands(study, tmp_path, typed):
    lists, spec, plan = (tmp_path / name for name in ("lists.json", "study.toml", "plan.json"))
    lists.write_text(json.dumps(CATEGORIES))
    spec.write_text(design_of(OWNERS).replace(str(TRAINED), "900"))
    data = ("--data", study.root / "miner")
    rows = [
        {name: secrets.choice(categories) for name, categories in CATEGORIES.items()}
        for _ in range(900)
    ]

    typed("owner_agent", "design", "--spec", spec, "--gamma", "19", "--write-study-plan", plan)
    words = ("--owners", ",".join(OWNERS), "--people", "same", "--url", study.url)
    typed("miner_service", "study", "create", "nursery", *words, "--folder", tmp_path, *data)
    typed("miner_service", "study", "plan", "set", "nursery", plan, *data)
    token = tmp_path / "analyst.token"
    typed("miner_service", "study", "analyst", "nursery", "--token-file", token, *data)
    linkage = tmp_path / "linkage.key"
    for owner, names in OWNERS.items():
        home = tmp_path / owner
        home.mkdir()
        table = home / "children.csv"
        lines = [",".join(["id", *names])]
        lines += [",".join([f"C{i}", *(row[n] for n in names)]) for i, row in enumerate(rows)]
        table.write_text("\n".join(lines) + "\n")
        invitation = tmp_path / f"nursery-{owner}.invitation"
        site = ("--site", home / "site.toml")
        typed("owner_agent", "init", table, "--invitation", invitation, "--public", lists, *site)
        how = "--linkage" if linkage.exists() else "--new-linkage"
        said = typed("owner_agent", "join", invitation, how, linkage, "--yes", *site)
        assert "bounds what 3 owners" in said
        assert "is sealed" in typed("owner_agent", "publish", "--yes", *site)

    assert len(typed.typed) <= MOST, typed.typed
    with RestClient(study.url, token.read_text().strip(), seconds=None) as analyst:
        releases = analyst.get("/v1/studies/nursery/releases")["items"]
        told = analyst.get("/v1/studies/nursery/privacy")["record"]["determined"]
    assert [(r["state"], r["records"]) for r in releases] == [("sealed", 900)] * 3
    assert told["gamma"] == pytest.approx(19, rel=1e-6)
    shown = typed("miner_service", "study", "show", "nursery", *data)
    assert "epsilon 2.944" in shown
    assert "Next:" not in shown
