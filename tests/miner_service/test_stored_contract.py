"""docs/openapi.json is the contract as it was agreed on: a change of it is seen, and decided on."""

from __future__ import annotations

import difflib
import json
import os

import pytest

from tests.places import ROOT

STORED = ROOT / "docs" / "openapi.json"
SHOWN = 80


def lines(document):
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def difference(stored, now):
    """Return what changed, as a reader of the contract sees it; empty if nothing did."""
    return list(difflib.unified_diff(stored, now, "docs/openapi.json", "the service", n=4))


@pytest.mark.slow
def test_the_contract_is_the_stored_one(document):
    now = lines(document)
    if os.environ.get("PRAMANA_WRITE_OPENAPI"):
        STORED.write_text("\n".join(now) + "\n", encoding="utf-8")
    changed = difference(STORED.read_text(encoding="utf-8").splitlines(), now)
    assert not changed, (
        "The contract is another than docs/openapi.json says. If that is meant, follow 'To change"
        " the contract' in CONTRIBUTING.md and run `make openapi`:\n"
        + "\n".join(changed[:SHOWN])
        + (f"\n... and {len(changed) - SHOWN} lines more" if len(changed) > SHOWN else "")
    )
