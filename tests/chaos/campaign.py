"""A campaign: studies one after another, and processes killed in the middle of what they do.

A kill is aimed by a trap at a request on its way, or at a job that the store calls running, and is
counted only if the process was there, died of it, and what it did was not over. Everything random
follows from the seed, but for the order in which processes happen to come.
"""

from __future__ import annotations

import json
import random
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from pramana.demo.run import RestClient
from tests.chaos.checking import Aftermath, digest_of
from tests.chaos.owners import NAMES, Owner, People, settle_in
from tests.chaos.proxy import Proxy, Stage, Trap, faults
from tests.chaos.schedule import Blow, Deed, Schedule, Step
from tests.chaos.service import Service, until
from tests.postgres import Postgres

PEOPLE, PARTS = 420, 14
MOST_OF_ONE_JOB = 2
"""Kills in the middle of one job: after a third the service would rightly give it up."""
_AGENTS = 60
"""More agents of one owner, one after the other, than any seed needs."""
_STUDIES = 60
"""More studies than any seed needs."""
_LEARN = {"kind": "bayes-net-structure", "draws": 1000}
_STAGES: tuple[Stage, ...] = ("arrived", "half", "handled", "handled", "handled", "answered")
_SETTINGS = """\
[jobs]
workers = {workers}
lease_seconds = 3
beat_seconds = 0.1
"""


@dataclass(frozen=True)
class Kill:
    """A process that was killed in the middle of something."""

    victim: Deed
    during: Step
    stage: str
    study: str


@dataclass
class Campaign:
    """Runs until enough was killed and each blow was dealt; `root` holds what is made."""

    root: Path
    seed: int
    wanted: int
    blows: Sequence[Blow]
    postgres: Postgres | None = None
    workers: int = 1
    rare: float = 0.03
    kills: list[Kill] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mark = secrets.token_hex(8)
        self.random = random.Random(self.seed)
        self.schedule = Schedule(self.blows, self.random)
        for folder in ("logs", "studies"):
            (self.root / folder).mkdir()
        settings = self.root / "miner.toml"
        settings.write_text(_SETTINGS.format(workers=self.workers))
        data, logs = self.root / "miner", self.root / "logs"
        address = self.postgres.url() if self.postgres else None
        environment = {"PRAMANA_DATABASE": address} if address else {}
        self.service = Service(data, logs, self.mark, settings, environment)
        self.proxy = Proxy(self.seed, faults(self.rare))
        database = address and address.replace("postgresql:", "postgresql+psycopg:")
        database = database or f"sqlite:///{data / 'miner.sqlite'}"
        self.after = Aftermath(data, database, self.mark, environment)
        self._of_job: Counter[str] = Counter()

    def run(self) -> Aftermath:
        """Kill until enough are dead; then let everything end, and end it."""
        self.proxy.start()
        try:
            self._start()
            while True:
                assert len(self.after.people) < _STUDIES, f"still to come: {self.schedule.missed}"
                self._study(f"study-{len(self.after.people) + 1:02d}")
                if len(self.kills) >= self.wanted and not self.schedule.missed:
                    break
            self.proxy.deliver_copies()
            self._run_again()
            code = self.service.stop()
            assert code == 0, f"the service ended with {code}: {self.service.said()}"
        finally:
            self._end()
        return self.after

    def _end(self) -> None:
        self.service.kill()
        for owners in self.after.owners.values():
            for owner in owners:
                owner.kill()
        self.proxy.stop()

    def _start(self) -> None:
        self.proxy.lead_to(None)
        self.service.start()
        self._require_receipts_kept()
        self.proxy.lead_to(self.service.url)

    @property
    def _admin(self) -> RestClient:
        return RestClient(self.service.url, self.service.token_file.read_text().strip())

    def _require_receipts_kept(self) -> None:
        """Check that no part was forgotten that was acknowledged."""
        with self._admin as admin:
            for study in self.after.people:
                for release in admin.get(f"/v1/studies/{study}/releases")["items"]:
                    told = {n for r, n in self.proxy.receipts if r == release["id"]}
                    lost = told - set(release["parts_received"])
                    assert release["state"] == "sealed" or not lost, f"forgotten: {lost}"

    def _study(self, study: str) -> None:
        people = People.drawn(self.random.randrange(1 << 30), PEOPLE)
        owners = self._open(study, people)
        blows = self.schedule.deal()
        self._publish(study, owners, [blow for blow in blows if blow.step != "learn"])
        self._learn(study, [blow for blow in blows if blow.step == "learn"])

    def _open(self, study: str, people: People) -> list[Owner]:
        root = self.root / "studies" / study
        root.mkdir()
        owners = []
        with self._admin as admin:
            admin.post("/v1/studies", {"name": study})
            for name in NAMES:
                body = {"owner": name}
                secret = admin.post(f"/v1/studies/{study}/invitations", body)["secret"]
                owner = settle_in(
                    root, name, study, people, secret, self.proxy.url, self.mark, PARTS
                )
                self.proxy.callers[owner.token] = f"{study}/{name}"
                owners.append(owner)
            token = admin.post(f"/v1/studies/{study}/tokens", {"name": "ana"})["token"]
        self.proxy.callers[token] = f"{study}/ana"
        (root / "ana.token").write_text(token)
        self.after.people[study], self.after.owners[study] = people, owners
        return owners

    def _publish(self, study: str, owners: list[Owner], blows: list[Blow]) -> None:
        """Let all owners publish at once, while agents and service are killed."""
        trap: Trap | None = None
        self.proxy.wait_for_traps({blow.step for blow in blows})
        while not all(owner.done for owner in owners):
            for owner in owners:
                if owner.look() and not owner.done:
                    assert len(owner.ends) < _AGENTS, f"{owner.ends}: {owner.said()}"
                    owner.publish()
            if blows and self._dealt(blows[0], trap, study, owners):
                self._look_after(blows.pop(0).deed)
                self.proxy.wait_for_traps({blow.step for blow in blows})
                trap = None
            elif blows and self._is_past(blows[0], study, owners):
                self._give_up(trap)
                self.schedule.miss([blows.pop(0)])
                self.proxy.wait_for_traps({blow.step for blow in blows})
                trap = None
            elif blows and blows[0].step != "write" and (trap is None or _missed(trap)):
                trap = self._trap(study, owners, *blows[0])
            time.sleep(0.01)
        self._give_up(trap)
        self.schedule.miss(blows)

    def _is_past(self, blow: Blow, study: str, owners: list[Owner]) -> bool:
        """Say whether no owner will send a request of a blow's step any more."""
        if blow.step != "upload":
            return False
        held = (self.proxy.held.get(f"{study}/{owner.name}") for owner in owners if not owner.done)
        return all(step == "seal" for step in held)

    def _give_up(self, trap: Trap | None) -> None:
        if trap is not None:
            trap.sprung.cancel()

    def _dealt(self, blow: Blow, trap: Trap | None, study: str, owners: list[Owner]) -> bool:
        """Say whether a blow was dealt."""
        if blow.step == "write":
            return self._kill_writing(study, owners)
        return trap is not None and trap.sprung.done() and trap.sprung.result()

    def _trap(self, study: str, owners: list[Owner], step: Step, victim: Deed) -> Trap:
        """Set a trap for the next request of a step."""
        by_caller = {f"{study}/{owner.name}": owner for owner in owners}

        def act(flight: Any) -> bool:
            struck = self._strike(victim, by_caller[flight.caller])
            if struck:
                self.kills.append(Kill(victim, step, flight.stage, study))
            return struck

        stage = self.random.choice(_STAGES)
        pause = self.random.choice((0.0, 0.003, 0.01, 0.03, 0.1)) if stage == "handled" else 0.0
        skip = self.random.randrange(4) if step == "upload" else 0
        return self.proxy.arm(Trap(step, stage, act, skip=skip, pause=pause))

    def _kill_writing(self, study: str, owners: list[Owner]) -> bool:
        """Kill an agent that is writing its outbox; say whether the moment is over."""
        for owner in owners:
            if owner.writing and owner.kill():
                if owner.writing:
                    self.kills.append(Kill("agent", "write", "outbox", study))
                return True
        return all((owner.site.state / "outbox").exists() for owner in owners)

    def _strike(self, victim: Deed, owner: Owner | None = None) -> bool:
        """Kill a process; say whether it was there."""
        if victim == "agent":
            return owner is not None and owner.kill()
        if victim == "database":
            assert self.postgres is not None
            self.postgres.kill()
            return True
        return self.service.kill()

    def _look_after(self, victim: Deed) -> None:
        """Start again what was killed, where that is for whoever runs the service."""
        if victim == "service":
            self._start()
        if victim == "database" and self.postgres is not None:
            self.postgres.start()
            until(self._ready, what="a service that found its database again")
            self._require_receipts_kept()

    def _ready(self) -> bool:
        answer = httpx.get(f"{self.service.url}/readyz", timeout=60, trust_env=False)
        return answer.status_code == 200

    def _learn(self, study: str, blows: list[Blow]) -> None:
        """Ask for a table and networks; kill who learns while it is learned."""
        count = {"kind": "contingency-table", "variables": list(NAMES)}
        jobs = [self._ask(study, count)]
        self.after.tables[study] = jobs[0]
        while (unfinished := self._unfinished()) or blows:
            worn = any(self._of_job[job] >= MOST_OF_ONE_JOB for job in unfinished)
            if not unfinished:
                jobs.append(self._ask(study, {**_LEARN, "seed": len(jobs)}))
            if blows and not worn and self._running() and self._interrupt(study, blows[0].deed):
                blows.pop(0)
            time.sleep(0.02 if blows else 0.1)
        with self._admin as admin:
            for job in jobs:
                found = admin.get(f"/v1/jobs/{job}")
                assert found["state"] == "succeeded", found
        self.after.first_seen |= {job: digest_of(self._stored(job)) for job in jobs}

    def _interrupt(self, study: str, victim: Deed) -> bool:
        """Kill after a random while; say whether a job was interrupted by that."""
        time.sleep(self.random.choice((0.0, 0.02, 0.05, 0.1, 0.2)))
        if not self._running():
            return False
        if victim in ("worker", "supervisor"):
            interrupted = self._kill_children(victim)
        else:
            assert self._strike(victim), f"the {victim} had ended by itself: {self.service.said()}"
            if victim != "service":
                self._look_after(victim)
            # What the store calls running after that was interrupted.
            interrupted = self._running()
            if victim == "service":
                self._look_after(victim)
        self._of_job.update(interrupted)
        if interrupted:
            self.kills.append(Kill(victim, "learn", "running", study))
        return bool(interrupted)

    def _kill_children(self, victim: Deed) -> list[str]:
        """Kill all workers, or their supervisor, if a job is running while they stand still."""
        found = self.service.workers() if victim == "worker" else self.service.supervisors()
        with suppress(psutil.NoSuchProcess):
            for process in found:
                process.suspend()
            interrupted = self._running() if found else []
            for process in found:
                process.kill() if interrupted else process.resume()
            return interrupted
        return []

    def _ask(self, study: str, spec: dict[str, Any], key: str | None = None) -> str:
        """Ask for a job through the bad network until it is answered; return its id."""
        token = (self.root / "studies" / study / "ana.token").read_text()
        for _ in range(100):
            try:
                answer = httpx.post(
                    f"{self.proxy.url}/v1/studies/{study}/jobs",
                    json={"spec": spec} if key is None else {"spec": spec, "key": key},
                    headers={"Authorization": f"Bearer {token}"},
                    timeout=60,
                    trust_env=False,
                )
            except httpx.TransportError:
                continue
            assert answer.is_success, answer.text
            return str(answer.json()["id"])
        raise AssertionError("no answer in a hundred attempts")

    def _run_again(self) -> None:
        """Run all jobs once more, with nobody disturbing them."""
        self.proxy.weights = {"none": 1.0}
        for row in self.after.rows("SELECT id, study, spec FROM jobs ORDER BY seq"):
            spec = json.loads(row["spec"])
            self.after.again[row["id"]] = self._ask(row["study"], spec, f"again-{row['id']}")
        until(lambda: not self._unfinished(), what="the end of all jobs")

    def _unfinished(self) -> list[str]:
        query = "SELECT id FROM jobs WHERE state IN ('queued', 'running')"
        return [row["id"] for row in self.after.rows(query)]

    def _running(self) -> list[str]:
        return [r["id"] for r in self.after.rows("SELECT id FROM jobs WHERE state = 'running'")]

    def _stored(self, job: str) -> dict[str, Any]:
        rows = self.after.rows("SELECT job, body FROM models")
        return next(json.loads(row["body"]) for row in rows if row["job"] == job)

    def told(self) -> str:
        """Say what was done, as a line of docs/operations.md."""
        by = Counter((kill.victim, kill.during) for kill in self.kills)
        killed = ", ".join(f"{n} x {victim} in {during}" for (victim, during), n in by.items())
        bad = ", ".join(f"{n} {what}" for what, n in sorted(self.proxy.done.items()))
        database = "SQLite" if self.postgres is None else "PostgreSQL"
        starts = f"{self.service.starts} starts of the service"
        return f"* {database}: {len(self.kills)} kills ({killed}); {starts}; requests: {bad}."


def _missed(trap: Trap) -> bool:
    """Whether whom it was meant for was not there when it sprang."""
    return trap.sprung.done() and not trap.sprung.result()
