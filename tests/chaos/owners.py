"""Owners of one study: their folders, and their agents as processes that may be killed.

Every person of a study has three digits, one at each owner: unique among all, so that the table
over the three columns has a 1 where somebody is and a 0 elsewhere, and tells a record that is lost
or counted twice by its place. A fourth column is randomized, for the ledger to count its draws.
"""

from __future__ import annotations

import os
import secrets
import signal
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from owner_agent.release.joining import join
from owner_agent.release.ledger import Ledger
from owner_agent.site.site import Site, load_site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from owner_agent.state.tokens import TokenStore
from tests.chaos.service import MARK
from tests.forked import Forked

NAMES = ("north", "south", "east")
BASE = 12
"""Categories of each owner's digit."""

_SITE = """\
owner = "{owner}"
table = "table.csv"
record_id = "id"

[miner]
url = "{url}"
study = "{study}"

[[variables]]
name = "{owner}"
categories = [{categories}]
sensitive = false

[[variables]]
name = "{owner}_ill"
categories = ["no", "yes"]
sensitive = true
channel = {{ kind = "symmetric", gamma = 3.0 }}
"""


@dataclass
class People:
    """Who is in a study, by the digits that the owners know of each."""

    digits: npt.NDArray[np.int64]
    ill: npt.NDArray[np.bool_]

    @classmethod
    def drawn(cls, seed: int, count: int) -> People:
        """Draw people of whom no two have the same digits."""
        rng = np.random.default_rng(seed)
        chosen = rng.choice(BASE ** len(NAMES), count, replace=False)
        digits = np.stack(np.unravel_index(chosen, (BASE,) * len(NAMES)), axis=1)
        return cls(digits, rng.random((count, len(NAMES))) < 0.2)

    @property
    def table(self) -> npt.NDArray[np.float64]:
        """How many of them have each combination of digits."""
        counts = np.zeros((BASE,) * len(NAMES))
        np.add.at(counts, tuple(self.digits.T), 1.0)
        return counts


@dataclass
class Owner:
    """An owner's folder and, while it publishes, its agent."""

    name: str
    home: Path
    site: Site
    mark: str
    part_records: int
    token: str
    process: Forked | None = None
    ends: list[int] = field(default_factory=list)
    """How each of its agents ended, in order."""

    @property
    def done(self) -> bool:
        """Whether an agent of it has published to the end."""
        return bool(self.ends) and self.ends[-1] == 0

    @property
    def writing(self) -> bool:
        """Whether a release is being put into the outbox just now."""
        return any((self.site.state / "outbox").glob(".unfinished-*"))

    def publish(self) -> None:
        """Start an agent."""
        words = ["publish", "--yes", "--site", str(self.home / "site.toml")]
        words += ["--part-records", str(self.part_records)]
        env = {**os.environ, MARK: self.mark}
        self.process = Forked("tests.chaos.agent", *words, out=self.home / "agent.log", env=env)

    def look(self) -> bool:
        """Note whether its agent has ended; say whether none is running."""
        if self.process is not None and (code := self.process.poll()) is not None:
            self.ends.append(code)
            self.process = None
        return self.process is None

    def kill(self) -> bool:
        """Send SIGKILL to its agent; say whether it was there to be killed by it."""
        if self.process is None or self.process.poll() is not None:
            return False
        self.process.send_signal(signal.SIGKILL)
        return self.process.wait() == -signal.SIGKILL

    @property
    def ledger(self) -> Ledger:
        """What it says has left."""
        return Ledger(self.site.state)

    def said(self) -> str:
        """The end of its agents' log."""
        return (self.home / "agent.log").read_text(errors="replace")[-3000:]


def settle_in(
    root: Path, name: str, study: str, people: People, secret: str, url: str, mark: str, parts: int
) -> Owner:
    """Make an owner's folder with table and keys, and take its invitation up.

    It publishes in `parts` parts.
    """
    home = root / name
    home.mkdir(parents=True)
    at = NAMES.index(name)
    rows = [
        f"p{person},d{digits[at]},{'yes' if ill[at] else 'no'}"
        for person, (digits, ill) in enumerate(zip(people.digits, people.ill, strict=True))
    ]
    np.random.default_rng(at).shuffle(rows)
    table = [f"id,{name},{name}_ill", *rows]
    (home / "table.csv").write_text("\n".join(table) + "\n", encoding="utf-8")
    categories = ", ".join(f'"d{digit}"' for digit in range(BASE))
    text = _SITE.format(owner=name, url=url, study=study, categories=categories)
    (home / "site.toml").write_text(text, encoding="utf-8")
    site = load_site(home / "site.toml")
    keys = KeyStore(site.state)
    keys.create("draw", secrets.token_bytes)
    keys.add("linkage", bytes(range(7, 39)))
    join(site, secret, Environment())
    token = TokenStore(site.state).load(study)
    return Owner(name, home, site, mark, -(-len(rows) // parts), token)
