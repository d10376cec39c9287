"""The demonstration over containers: sites prepared before, the study concluded after they run.

Between both steps the miner and the agents are containers of their own (see deploy/README.md);
these steps only write the owners' folders and speak REST.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from experiments.demo.folders import Folder, owners
from experiments.demo.outcome import Outcome
from experiments.demo.run import (
    STUDY,
    Parties,
    Say,
    agent_of,
    conclude,
    prepare_sites,
    write_secret,
)
from experiments.demo.scenario import Scenario
from experiments.demo.study import Rest, open_study


def organize(root: Path, scenario: Scenario, miner: str, admin_token: Path, *, seed: int) -> None:
    """Open the study, write each owner's folder with keys, and put its invitation there.

    Doing it again does nothing: the containers may be started any number of times.

    Raises:
        Unreachable, Refused: the miner did not do its part.
    """
    done = root / ".organized"
    if done.exists():
        return
    folder = Folder(root)
    with Rest(miner, admin_token.read_text().strip()) as admin:
        prepare_sites(folder, scenario, miner, seed=seed, private_network=True)
        for owner, secret in open_study(admin, STUDY, scenario.title, owners(scenario)).items():
            write_secret(folder.invitation(owner), secret)
    done.touch()


def finish(
    root: Path,
    scenario: Scenario,
    miner: str,
    admin_token: Path,
    agents: Mapping[str, str],
    *,
    seed: int,
    say: Say,
) -> Outcome:
    """Have the agents publish, learn at the miner, and write result and report into `root`.

    Args:
        root: the folder that `organize` prepared.
        scenario: the one `organize` was given.
        miner: the miner's URL.
        admin_token: the file with the admin token.
        agents: each owner's agent's URL.
        seed: the seed `organize` was given.
        say: told of progress.
    """
    began = time.monotonic()
    folder = Folder(root)
    with ExitStack() as callers:
        admin = callers.enter_context(Rest(miner, admin_token.read_text().strip()))
        reached = {
            owner: callers.enter_context(agent_of(folder.site(owner) / "site.toml", url))
            for owner, url in agents.items()
        }
        return conclude(folder, scenario, Parties(admin, reached), seed=seed, began=began, say=say)
