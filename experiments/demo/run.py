"""The whole demonstration: processes up, study run, results compared and written."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from experiments.demo.folders import Folder, owners, prepare, write_site
from experiments.demo.outcome import Outcome, compare, learn_clean
from experiments.demo.processes import Processes, run
from experiments.demo.scenario import Scenario
from experiments.demo.study import Rest, learn, open_study, publish
from shared.wire import BayesNetMessage

STUDY = "demo"

Say = Callable[[str, float], None]
"""Called with what is being done and the share of the demonstration that is done."""


def demonstrate(
    scenario: Scenario, out: Path, *, seed: int | None, say: Say
) -> tuple[Outcome, Folder, BayesNetMessage]:
    """Run a scenario with one miner process and one agent process per owner.

    Args:
        scenario: what to run.
        out: the folder for everything; see `folders.prepare`.
        seed: makes the demonstration's orders and keys reproducible; None draws fresh keys, as
            production always does.
        say: told of progress.

    Raises:
        ConfigError: `out` holds something else.
        Unreachable, Refused, StateError: a service did not do its part.
    """
    began = time.monotonic()
    folder = prepare(out)
    rng = np.random.default_rng(None if seed is None else [seed, 1])
    with Processes(folder.logs) as processes, ExitStack() as callers:
        say("starting the miner", 0.02)
        token_file = folder.root / "admin.token"
        url = processes.serve(
            "miner",
            "miner_service",
            *("serve", "--data", str(folder.miner), "--admin-token-file", str(token_file)),
        )
        admin = callers.enter_context(Rest(url, token_file.read_text().strip()))
        say("opening the study", 0.08)
        invitations = open_study(admin, STUDY, scenario.title, owners(scenario))
        files = {s.owner: write_site(folder, s, STUDY, url, rng) for s in scenario.sites}
        say("making and exchanging keys", 0.1)
        _keys(folder, list(files.values()), seed)
        agents = {}
        for i, (owner, file) in enumerate(files.items()):
            say(f"starting the agent of {owner}", 0.2 + 0.3 * i / len(files))
            agent = _start_agent(processes, owner, file, invitations[owner])
            agents[owner] = callers.enter_context(agent)
        for i, (owner, agent) in enumerate(agents.items()):
            base = 0.5 + 0.3 * i / len(agents)
            publish(agent, lambda _state, o=owner, b=base: say(f"{o} randomizes and publishes", b))  # type: ignore[misc]
        say("the miner aligns and learns", 0.8)
        model = learn(
            admin, STUDY, scenario.structure.as_dict(), lambda _job: say("the miner learns", 0.85)
        )
        bif = admin.text(f"/v1/models/{model.id}/bif")
    say("learning from the true tables, to compare", 0.9)
    clean = learn_clean(files.values(), scenario.structure)
    outcome = Outcome(
        title=scenario.title,
        reference="table" if scenario.truth is None else "network",
        records=model.records,
        rows=compare(model, clean, scenario.truth),
        seconds=time.monotonic() - began,
        seed=seed,
    )
    _write(folder.result, outcome.as_dict())
    (folder.root / "model.bif").write_text(bif, encoding="utf-8")
    return outcome, folder, model


def _start_agent(processes: Processes, owner: str, site: Path, secret: str) -> Rest:
    invitation = site.parent / "invitation"
    invitation.touch(mode=0o600)
    invitation.write_text(secret, encoding="utf-8")
    run("owner_agent", "join", "--secret-file", str(invitation), "--site", str(site))
    url = processes.serve(f"agent-{owner}", "owner_agent", "serve", "--site", str(site))
    token = (site.parent / ".pramana" / "agent.token").read_text(encoding="utf-8").strip()
    return Rest(url, token)


def _keys(folder: Folder, sites: list[Path], seed: int | None) -> None:
    """Give every owner a draw key of its own and all of them one linkage secret."""
    linkage = folder.root / "linkage.key"
    for number, site in enumerate(sites):
        if seed is None:
            run("owner_agent", "keys", "create", "--site", str(site))
        else:
            key = _write_key(site.parent / "draw.key", _seeded(seed, f"draw {number}"))
            run("owner_agent", "keys", "import", "draw", str(key), "--site", str(site))
    _write_key(linkage, secrets.token_hex(32) if seed is None else _seeded(seed, "linkage"))
    for site in sites:
        run("owner_agent", "keys", "import", "linkage", str(linkage), "--site", str(site))


def _seeded(seed: int, purpose: str) -> str:
    return hashlib.sha256(f"pramana demonstration {seed} {purpose}".encode()).hexdigest()


def _write_key(path: Path, key: str) -> Path:
    path.touch(mode=0o600)
    path.write_text(key, encoding="utf-8")
    return path


def _write(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    # One parameter a line keeps the file readable for people too.
    path.write_text(re.sub(r"\n {6,}", " ", text) + "\n", encoding="utf-8")
