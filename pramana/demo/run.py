"""The whole demonstration: start processes, run the study, compare and write the results."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import httpx
import numpy as np

from owner_agent.site.site import load_site
from owner_agent.state.keys import KeyStore
from pramana.demo.report import DemoOutcome, Parameter, demo_report
from pramana.demo.scenario import Folder, Scenario, owners, prepare, write_site
from pramana_core.errors import EstimationError, Refused, StateError, Unreachable
from pramana_core.report.page import html
from pramana_core.report.report import Report
from pramana_core.wire.models import BayesNetMessage
from pramana_core.wire.services import PROTOCOL, PROTOCOL_HEADER, read_problem

_START_SECONDS = 300.0
_STOP_SECONDS = 10.0


class Processes(ExitStack):
    """The processes of one demonstration. Leaving the context stops them all.

    Args:
        logs: a folder; each process writes `<name>.log` there.
    """

    def __init__(self, logs: Path) -> None:
        super().__init__()
        self._logs = logs

    def serve(self, name: str, module: str, *arguments: str) -> str:
        """Start a module as a server on a free port; return its URL when the server is ready."""
        ready = self._logs / f"{name}.ready"
        command = [sys.executable, "-m", module, *arguments]
        command += ["--port", "0", "--ready-file", str(ready)]
        log = self.enter_context((self._logs / f"{name}.log").open("wb"))
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        self.callback(_stop, process)
        deadline = time.monotonic() + _START_SECONDS
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                output = (self._logs / f"{name}.log").read_text(errors="replace").strip()
                raise Unreachable(
                    f"The {name} process did not start: {output or 'no output'}",
                    remedy=f"See {self._logs / name}.log.",
                )
            time.sleep(0.02)
        url: str = json.loads(ready.read_text())["url"]
        return url


def run(module: str, *arguments: str) -> None:
    """Run one command of a service and wait until it ends."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Unreachable(
            f"`{module.replace('_', '-')} {arguments[0]}` failed with exit code {done.returncode}:"
            f" {done.stderr.strip()}"
        )


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


_POLL_SECONDS = 0.1
_DEADLINE_SECONDS = 3600.0


class RestClient:
    """A service's REST interface for one caller; leaving the context closes the connections.

    Each call raises Refused if the service answers with a problem document, and Unreachable if the
    service does not answer within `seconds`.
    """

    def __init__(self, url: str, token: str, seconds: float | None = 60.0) -> None:
        self._client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}", PROTOCOL_HEADER: PROTOCOL},
            timeout=seconds,
            # The services are on this machine or a private network, so no proxy is used.
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._client.close()

    def get(self, path: str) -> Any:
        """GET a JSON document."""
        return self._call("GET", path).json()

    def text(self, path: str) -> str:
        """GET a text document."""
        return self._call("GET", path).text

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """POST a JSON document and return the JSON answer."""
        return self._call("POST", path, body or {}).json()

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> httpx.Response:
        try:
            answer = self._client.request(method, path, json=body)
        except httpx.TransportError as error:
            raise Unreachable(f"No answer from {self._client.base_url}: {error}.") from None
        if answer.is_error:
            problem = read_problem(answer.content)
            raise Refused(
                problem.detail if problem else answer.text,
                status=answer.status_code,
                problem_code=problem.code if problem else "unknown",
                remedy=problem.remedy if problem else None,
            )
        return answer

    def wait(self, path: str) -> dict[str, Any]:
        """Poll a resource until its state is final."""
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while time.monotonic() < deadline:
            found: dict[str, Any] = self.get(path)
            if found["state"] == "succeeded":
                return found
            if found["state"] in {"failed", "cancelled"}:
                problem = found.get("problem") or {}
                raise StateError(
                    str(problem.get("detail", f"It {found['state']}.")),
                    where=problem.get("code"),
                    remedy=problem.get("remedy"),
                )
            time.sleep(_POLL_SECONDS)
        raise EstimationError(f"{path} did not finish within {_DEADLINE_SECONDS:.0f} seconds.")


def open_study(admin: RestClient, study: str, title: str, owners: list[str]) -> dict[str, str]:
    """Create a study and invite its owners; return each owner's invitation secret."""
    admin.post("/v1/studies", {"name": study, "title": title, "people": "same"})
    return {
        owner: admin.post(f"/v1/studies/{study}/invitations", {"owner": owner})["secret"]
        for owner in owners
    }


def learn(analyst: RestClient, study: str, structure: dict[str, list[str]]) -> BayesNetMessage:
    """Run the job and fetch its model."""
    spec = {"kind": "bayes-net-parameters", "structure": structure}
    job = analyst.post(f"/v1/studies/{study}/jobs", {"spec": spec})
    done = analyst.wait(f"/v1/jobs/{job['id']}")
    return BayesNetMessage.model_validate(analyst.get(f"/v1/models/{done['model']}"))


STUDY = "demo"

Say = Callable[[str, float], None]
"""Called with the current step and the share of the demonstration that is done."""


def demonstrate(scenario: Scenario, out: Path, *, seed: int | None, say: Say) -> Report:
    """Run a scenario: start a miner and run each owner's agent commands."""
    began = time.monotonic()
    folder = prepare(out)
    with Processes(out / "logs") as processes, ExitStack() as callers:
        say("starting the miner", 0.02)
        token_file = folder.root / "admin.token"
        url = processes.serve(
            "miner",
            "miner_service",
            *("serve", "--data", str(out / "miner"), "--admin-token-file", str(token_file)),
        )
        admin = callers.enter_context(RestClient(url, token_file.read_text().strip()))
        say("making tables and keys, inviting the owners", 0.08)
        sites = write_sites(folder, scenario, url, seed=seed)
        _keys(folder, list(sites.values()), seed)
        for owner, secret in open_study(admin, STUDY, scenario.title, owners(scenario)).items():
            write_secret(folder.invitation(owner), secret)
        for i, (owner, site) in enumerate(sites.items()):
            say(f"{owner} joins, randomizes and publishes", 0.2 + 0.6 * i / len(sites))
            invitation = str(folder.invitation(owner))
            run("owner_agent", "join", "--secret-file", invitation, "--site", str(site))
            run("owner_agent", "publish", "--yes", "--no-report", "--site", str(site))
        return conclude(folder, scenario, admin, seed=seed, began=began, say=say)


def write_sites(
    folder: Folder, scenario: Scenario, url: str, *, seed: int | None, private_network: bool = False
) -> dict[str, Path]:
    """Write each owner's table and site file; return the site files."""
    rng = np.random.default_rng(None if seed is None else [seed, 1])
    miner = {"url": url, "study": STUDY} | ({"allow_insecure": True} if private_network else {})
    return {site.owner: write_site(folder, site, miner, rng) for site in scenario.sites}


def conclude(
    folder: Folder,
    scenario: Scenario,
    analyst: RestClient,
    *,
    seed: int | None,
    began: float,
    say: Say,
) -> Report:
    """Learn at the miner, compare with the truth, and write result and report."""
    say("the miner aligns and learns", 0.8)
    model = learn(analyst, STUDY, scenario.structure.as_dict())
    bif = analyst.text(f"/v1/models/{model.id}/bif")
    outcome = DemoOutcome(
        title=scenario.title,
        records=model.records,
        rows=tuple(Parameter.of(one, scenario.truth) for one in model.parameters),
        seconds=time.monotonic() - began,
        seed=seed,
    )
    say("writing the report", 0.95)
    _write(folder.root / "result.json", outcome.as_dict())
    (folder.root / "model.bif").write_text(bif, encoding="utf-8")
    report = demo_report(scenario, outcome, model)
    (folder.root / "report.html").write_text(html(report, ""), encoding="utf-8")
    return report


def _keys(folder: Folder, sites: list[Path], seed: int | None) -> None:
    linkage = folder.root / "linkage.key"
    for number, site in enumerate(sites):
        if seed is None:
            run("owner_agent", "keys", "create", "--site", str(site))
        else:
            # Not imported: an imported key would draw in an epoch with a random number.
            secret = bytes.fromhex(_seeded(seed, f"draw {number}"))
            KeyStore(load_site(site).state).add("draw", secret)
    write_secret(linkage, secrets.token_hex(32) if seed is None else _seeded(seed, "linkage"))
    for site in sites:
        run("owner_agent", "keys", "import", "linkage", str(linkage), "--site", str(site))


def _seeded(seed: int, purpose: str) -> str:
    return hashlib.sha256(f"pramana demonstration {seed} {purpose}".encode()).hexdigest()


def write_secret(path: Path, secret: str) -> Path:
    """Write a secret to a file that only this user may read."""
    path.touch(mode=0o600)
    path.write_text(secret, encoding="utf-8")
    return path


def _write(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    # One parameter per line keeps the file readable for people.
    path.write_text(re.sub(r"\n {6,}", " ", text) + "\n", encoding="utf-8")


def organize(root: Path, scenario: Scenario, miner: str, admin_token: Path, *, seed: int) -> None:
    """Open the study if it does not exist; write each owner's table, site file and invitation."""
    folder = Folder(root)
    wanted = [owner for owner in owners(scenario) if not folder.invitation(owner).exists()]
    if not wanted:
        return
    with RestClient(miner, admin_token.read_text().strip()) as admin:
        write_sites(folder, scenario, miner, seed=seed, private_network=True)
        for owner, secret in open_study(admin, STUDY, scenario.title, wanted).items():
            write_secret(folder.invitation(owner), secret)


def finish(root: Path, scenario: Scenario, miner: str, admin_token: Path, *, say: Say) -> Report:
    """Learn from the owners' releases, and write the result and the report into `root`."""
    began = time.monotonic()
    with RestClient(miner, admin_token.read_text().strip()) as admin:
        return conclude(Folder(root), scenario, admin, seed=None, began=began, say=say)
