"""`owner-agent audit`: this site's own log, and the states of miners' logs that it has seen."""

from __future__ import annotations

import sys
from dataclasses import asdict

from owner_agent.cli.options import SITE, JsonOption, SiteOption
from shared.audit.command import audit_commands
from shared.errors import StoreCorrupt
from shared.terminal import console, print_json

app = audit_commands()


@app.command()
def anchors(site: SiteOption = SITE, json: JsonOption = False) -> None:
    """Print the states of miners' logs that were seen here. Exit code 4 if a log was rewritten.

    Compare them with what other owners have: `pramana audit verify` and `--anchor` take them.
    """
    from owner_agent.release.anchors import all_anchors, wrong_with
    from owner_agent.site.site import load_site

    seen = all_anchors(load_site(site).state)
    wrong = {miner: why for miner, known in seen.items() if (why := wrong_with(known)) is not None}
    if json:
        told = {miner: [asdict(anchor) for anchor in known] for miner, known in seen.items()}
        print_json({"anchors": told, "rewritten": wrong})
        if wrong:
            sys.exit(StoreCorrupt.exit_code)
        return
    if not seen:
        console().print("No miner has told the state of its audit log yet.")
    for miner, known in seen.items():
        console().print(miner, markup=False, style="bold")
        for anchor in known:
            console().print(f"  {anchor.at}  {anchor}", markup=False, soft_wrap=True)
    if wrong:
        miner, why = next(iter(wrong.items()))
        raise StoreCorrupt(
            f"The audit log of {miner} is not the one it was: {why}.",
            where=miner,
            remedy="Ask whoever runs it whether it was restored from a backup, and compare these"
            " states with those of the other owners.",
        )
