"""The demonstration over containers: sites prepared before, the study concluded after they run.

Between both steps the miner and the owners are containers of their own, which make their keys and
publish by themselves (see deploy/README.md); these steps only draw tables and speak REST.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from pramana.demo.folders import Folder, owners
from pramana.demo.outcome import DemoOutcome
from pramana.demo.run import STUDY, RestClient, Say, conclude, open_study, write_secret, write_sites
from pramana.demo.scenario import Scenario


def organize(root: Path, scenario: Scenario, miner: str, admin_token: Path, *, seed: int) -> None:
    """Open the study, and lay each owner's table, site file and invitation into its folder.

    Doing it again does nothing: the containers may be started any number of times.

    Raises:
        Unreachable, Refused: the miner did not do its part.
    """
    folder = Folder(root)
    wanted = [owner for owner in owners(scenario) if not folder.invitation(owner).exists()]
    if not wanted:
        return
    with RestClient(miner, admin_token.read_text().strip()) as admin:
        write_sites(folder, scenario, miner, seed=seed, private_network=True)
        for owner, secret in open_study(admin, STUDY, scenario.title, wanted).items():
            write_secret(folder.invitation(owner), secret)


def finish(
    root: Path, scenario: Scenario, miner: str, admin_token: Path, *, seed: int, say: Say
) -> DemoOutcome:
    """Learn from what the owners published, and write result and report into `root`.

    The truth to compare with is drawn again: nobody has to hand over a table.

    Args:
        root: an empty folder, or that of an earlier result.
        scenario: the one `organize` was given.
        miner: the miner's URL.
        admin_token: the file with the admin token.
        seed: the seed `organize` was given.
        say: told of progress.
    """
    began = time.monotonic()
    with TemporaryDirectory() as truth, RestClient(miner, admin_token.read_text().strip()) as admin:
        drawn = write_sites(Folder(Path(truth)), scenario, miner, seed=seed, private_network=True)
        sites = list(drawn.values())
        return conclude(Folder(root), scenario, admin, sites, seed=seed, began=began, say=say)
