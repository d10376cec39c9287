"""Releases under crashes, losses and corrections: a machine that tries what may happen.

A small clinic publishes, is killed at any request or step, corrects its records, loses parts of its
state or gets older ones back, begins new epochs, and withdraws. Whatever came before,

* no record is ever reported differently by the same draw, in all that the miner ever had;
* the ledger has all that left, or nothing more leaves;
* the loss that the ledger states is at least that of all the draws that the miner was told of;
* a sealed release is whole, and every refusal is one of ours, with what to do.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from owner_agent.release import new_epoch as epochs
from owner_agent.release.composition import spent
from owner_agent.release.delivery import withdraw
from owner_agent.release.ledger import Ledger
from owner_agent.release.new_epoch import begin_new_epoch
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from pramana_core.errors import PramanaError
from tests.owner_agent.conftest import NOW, SITE, Bench, FakeMiner, Killed
from tests.owner_agent.release.publishing import differences

EPSILON = 2.0149  # ln 7.5 of the binary channel of `smoker`
PARTS = ("ledger.sqlite", "reported", "outbox", "audit.jsonl")
CHOICES = st.sampled_from(
    [
        PublishOptions(5),
        PublishOptions(5, corrections="keep"),
        PublishOptions(5, corrections="keep", accept_added_loss=True, accept_new_people=True),
    ]
)
FAULTS = st.none() | st.tuples(st.integers(0, 8), st.sampled_from(["before", "after"]))


class Clinic(RuleBasedStateMachine):
    """One owner, her miner, and all that may happen to both."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        self.bench = Bench(self.folder, FakeMiner())
        self.smokers: list[bool] = []
        self.ever: dict[str, dict] = {}
        self.moment = NOW
        self.kept = self.folder / "backup"

    def teardown(self):
        shutil.rmtree(self.folder)

    @initialize(forgetful=st.booleans())
    def join(self, forgetful):
        """The miner may forget, or older folders may come back; against both nobody can help."""
        self.forgetful = forgetful
        self.smokers = [i % 3 > 0 for i in range(12)]
        self.bench.join()
        self._write()

    def _write(self):
        rows = [
            f"PATIENT-{i:05d},{'yes' if smokes else 'no'},{20 + 5 * i % 60},north"
            for i, smokes in enumerate(self.smokers)
        ]
        self.bench.write(SITE, "\n".join(["patient_id,smokes,age,region", *rows]) + "\n")

    def _now(self):
        self.moment += timedelta(seconds=1)
        return replace(self.bench.environment, now=lambda: self.moment)

    def _done(self, act):
        """Do something; return whether it was done, and not killed or refused."""
        try:
            act()
        except Killed:
            return False
        except PramanaError as refused:
            if not (refused.remedy or refused.where):
                raise AssertionError(f"nothing can be done: {refused!r}") from refused
            return False
        finally:
            self.bench.miner.faults = []
            self.ever |= {
                f"{number} {release['manifest'].name}": release
                for number, release in self.bench.miner.releases.items()
            }
        return True

    @rule(who=st.integers(0, 30), options=CHOICES, fault=FAULTS)
    def correct_and_publish(self, who, options, fault):
        """Correct one record, or add one where there is none of that number, and publish."""
        if who < len(self.smokers):
            self.smokers[who] = not self.smokers[who]
        elif len(self.smokers) < 16:
            self.smokers.append(True)
        self.publish(options, fault)

    @rule(options=CHOICES, fault=FAULTS)
    def publish(self, options, fault):
        """Publish, perhaps killed around a request."""
        self._write()
        if fault is not None:
            self.bench.miner.faults = [None] * fault[0] + [(fault[1], Killed())]
        bench = self.bench
        if self._done(lambda: publish(PreparedRecords, bench.site, self._now(), options)):
            entries = Ledger(bench.state).entries()
            left = {entry.digest for entry in entries if entry.left}
            has = {release["manifest"].digest for release in bench.miner.releases.values()}
            assert has <= left, "the miner has what the ledger does not know"
            draws = {release["manifest"].draws[0] for release in self.ever.values()}
            assert spent(entries)["smokes"] >= len(draws) * EPSILON - 0.01

    @rule(
        killed=st.sampled_from([None, "archive_outbox_and_memory", "random_epoch"]),
        anyway=st.booleans(),
    )
    def new_epoch(self, killed, anyway):
        """Begin a new epoch, perhaps killed before it begins or before memories are set apart."""

        def die(*_words):
            raise Killed

        with pytest.MonkeyPatch.context() as patched:
            if killed:
                patched.setattr(epochs, killed, die)
            self._done(lambda: begin_new_epoch(self.bench.site, self._now(), anyway=anyway))

    @rule()
    def withdraw(self):
        """Withdraw the newest release."""
        if newest := [entry for entry in self._entries() if entry.state == "sealed"][-1:]:
            self._done(lambda: withdraw(self.bench.site, newest[0].name, self._now()))

    def _entries(self):
        try:
            return Ledger(self.bench.state).entries()
        except PramanaError:
            return ()

    @rule(part=st.sampled_from(PARTS))
    def lose(self, part):
        """Lose a part of the state."""
        self._remove(self.bench.state / part)

    @rule()
    def back_up(self):
        """Copy the whole state."""
        self._remove(self.kept)
        shutil.copytree(self.bench.state, self.kept)

    @precondition(lambda self: self.kept.exists() and not self.forgetful)
    @rule(parts=st.sets(st.sampled_from(PARTS), min_size=1))
    def restore(self, parts):
        """Get older parts of the state back beside newer ones, or all of them."""
        for part in parts:
            self._remove(self.bench.state / part)
            if (older := self.kept / part).exists():
                copy = shutil.copytree if older.is_dir() else shutil.copy
                copy(older, self.bench.state / part)

    @precondition(lambda self: self.kept.exists() and self.forgetful)
    @rule(older=st.sets(st.sampled_from(["reported", "audit.jsonl"])))
    def restore_beside_a_newer_outbox(self, older):
        """Get an older ledger back beside the outbox of now, at a miner that may have forgotten."""
        if (self.bench.state / "outbox").exists():
            for part in ("ledger.sqlite", *older):
                self._remove(self.bench.state / part)
                if (kept := self.kept / part).exists():
                    copy = shutil.copytree if kept.is_dir() else shutil.copy
                    copy(kept, self.bench.state / part)

    @precondition(lambda self: self.forgetful)
    @rule()
    def miner_forgets(self):
        """The miner is restored from a backup of before anything."""
        self.bench.miner.releases = {}

    def _remove(self, path):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    @invariant()
    def nobody_is_reported_twice_in_different_ways(self):
        assert differences(self.ever.values()) == 0

    @invariant()
    def what_is_sealed_is_whole(self):
        for release in self.bench.miner.sealed():
            assert sorted(release["bodies"]) == list(range(len(release["manifest"].parts)))


@pytest.mark.slow
def test_releases_under_crashes_losses_and_corrections():
    run_state_machine_as_test(
        Clinic,
        settings=settings(
            max_examples=120,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_control_a_ledger_begun_anew_beside_the_old_keys_is_found_out():
    """Without the refusals: what the machine looks for is there."""
    clinic = Clinic()
    try:
        clinic.join(forgetful=True)
        clinic.publish(PublishOptions(5), None)
        shutil.rmtree(clinic.bench.state)
        clinic.bench.join()
        clinic.miner_forgets()
        clinic.smokers = [not smokes for smokes in clinic.smokers]
        clinic.publish(PublishOptions(5), None)
        assert len(clinic.ever) == 2
        assert differences(clinic.ever.values()) > 2
    finally:
        clinic.teardown()
