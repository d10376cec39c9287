"""Keys that are replaced, and keys, machines and owners that are lost, by the commands that
docs/operations.md gives.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from miner_service.cli.main import app
from miner_service.http.app import create_app
from miner_service.http.server import exclusive
from miner_service.settings import Settings
from tests.end_to_end.test_whole_study import Ended, TestClient, World, world
from tests.miner_service.conftest import Person
from tests.miner_service.crew import crew_of

__all__ = ["world"]

pytestmark = pytest.mark.slow

EPSILON = math.log(3)


@dataclass
class Study:
    """The study asia of two owners of the same people, who have published."""

    world: World
    data: Path

    @property
    def admin(self) -> Person:
        """The operator at the API."""
        return Person(self.world.client, self.world.admin)

    def owner(self, name: str, *words: str, refused: str = "") -> Ended:
        """Run a command of an owner, which must succeed or be refused with this code."""
        ended = self.world.call(name, *words)
        assert bool(ended.code) is bool(refused), (words, ended.out, ended.err)
        assert not refused or f"({refused})" in ended.err, (words, ended.err)
        return ended

    def publish(self, name: str, *words: str) -> Any:
        """Publish; return what is said as JSON."""
        return json.loads(self.owner(name, "publish", "--yes", "--json", *words).out)

    def operator(self, *words: str) -> str:
        """Run a command of the operator on the miner's data, in the study's folder."""
        files = ("--folder", str(self.world.root)) if words[1] in ("create", "invite") else ()
        url = ("--url", "http://127.0.0.1:9") if words[1] in ("create", "invite", "analyst") else ()
        ended = CliRunner().invoke(app, [*words, *files, *url, "--data", str(self.data)])
        assert ended.exit_code == 0, (words, ended.output, ended.exception)
        return ended.output

    @contextmanager
    def served_from(self, data: Path) -> Iterator[None]:
        """Let another store answer in place of the lost one, at the same address."""
        with exclusive(data):
            app, world = create_app(Settings(data), crew=crew_of()), self.world
        with TestClient(app, raise_server_exceptions=False) as client:
            lost, world.client, world.transport.client = world.client, client, client
            yield
            world.client = world.transport.client = lost

    def invitation(self, name: str, study: str = "asia") -> str:
        """The file of an invitation."""
        return str(self.world.root / f"{study}-{name}.invitation")

    def state(self, name: str) -> Path:
        """An owner's state directory."""
        return self.world.root / name / ".pramana"

    def token(self, name: str) -> str:
        """An owner's token."""
        return (self.state(name) / "tokens" / "asia.token").read_text().strip()

    def status(self, token: str) -> int:
        """What the miner answers to a token."""
        return int(Person(self.world.client, token)("GET", "/v1/studies/asia").status_code)

    def releases(self, owner: str) -> list[dict[str, Any]]:
        """An owner's releases, as the miner lists them."""
        items = self.admin.get("/v1/studies/asia/releases")["items"]
        return [release for release in items if release["owner"] == owner]

    def epsilon(self, study: str = "asia") -> float:
        """The loss of a record by all releases of a study."""
        privacy = self.admin.get(f"/v1/studies/{study}/privacy")
        return float(privacy["record"]["determined"]["epsilon"])

    def composed(self, name: str) -> float:
        """The loss of an owner's column over all its releases, as its ledger adds them up."""
        ledger = json.loads(self.owner(name, "ledger", "--json").out)
        return float(ledger["composed_epsilon"]["ill"])

    def learn(self, *variables: str, **more: str) -> Any:
        """Learn a table; return its model, or None where the releases in use do not allow it."""
        spec = {"kind": "contingency-table", "variables": list(variables), **more}
        answer = self.admin("POST", "/v1/studies/asia/jobs", json={"spec": spec})
        if answer.status_code == 409:
            return None
        return self.model(self.admin.wait(answer.headers["location"])["model"])

    def model(self, identity: str) -> Any:
        """Read a model."""
        return self.admin.get(f"/v1/models/{identity}")


@pytest.fixture
def study(world: World) -> Study:
    """Two owners that have published."""
    world.rest("POST", "/v1/studies", name="asia", people="same")
    made = Study(world, world.root / "miner-data")
    for name in ("north", "south"):
        world.owner(name, 3)
        made.publish(name)
    return made


# Tokens -----------------------------------------------------------------------------------------


def test_an_owner_with_a_new_token_goes_on_with_its_releases(study: Study):
    old = study.token("north")
    study.operator("study", "remove", "asia", "north")
    assert study.status(old) == 401
    assert study.learn("north_ill") is None
    assert study.learn("south_ill") is not None
    study.operator("study", "invite", "asia", "north")
    # The control: without the invitation the ended token is not replaced.
    study.owner("north", "join", refused="miner-refused")
    study.owner("north", "join", study.invitation("north"))
    assert (study.status(old), study.status(study.token("north"))) == (401, 200)
    assert study.publish("north")["already"]
    assert study.learn("north_ill", "south_ill") is not None
    assert study.epsilon() == pytest.approx(2 * EPSILON, rel=1e-6)


@pytest.mark.parametrize("role", ["analyst", "gateway"])
def test_a_replaced_token_ends_the_earlier_ones_of_its_name(study: Study, role: str):
    def issue(name: str, *words: str) -> str:
        said = study.operator("study", role, "asia", "--name", name, *words)
        return said.split("only this once: ")[1].split("\n")[0].strip()

    good = {"analyst": 200, "gateway": 403}[role]  # it may not read the study
    first, other = issue("app"), issue("other")
    second = issue("app")
    assert [study.status(one) for one in (first, second, other)] == [good] * 3
    third = issue("app", "--replace")
    assert [study.status(one) for one in (first, second, third, other)] == [401, 401, good, good]
    assert study.status(study.token("north")) == 200


# Secrets ----------------------------------------------------------------------------------------


def test_a_new_draw_key_draws_everything_anew_and_its_loss_is_added(study: Study):
    (first,) = study.releases("north")
    study.owner("north", "withdraw", first["id"])
    key = study.state("north") / "keys" / "draw.key"
    old = key.read_text()
    key.rename(study.world.root / "stolen.key")
    study.owner("north", "publish", "--yes", refused="key-file")
    study.owner("north", "keys", "create")
    assert key.read_text() != old
    study.owner("north", "new-epoch", "--yes")
    study.owner("north", "publish", "--yes", refused="plan-conflict")
    made = study.publish("north", "--accept-added-loss")
    assert made["digest"] != first["digest"]
    assert study.epsilon() == pytest.approx(3 * EPSILON, rel=1e-6)
    assert study.publish("north")["already"]
    assert study.learn("north_ill", "south_ill") is not None


def test_an_owner_that_lost_the_linkage_secret_gets_it_from_another(study: Study):
    (study.state("north") / "keys" / "linkage.key").unlink()
    study.owner("north", "publish", "--yes", refused="key-file")
    copy = str(study.world.root / "copy.key")
    study.owner("south", "keys", "export", "linkage", copy)
    study.owner("north", "keys", "import", "linkage", copy)
    assert study.publish("north")["already"]


def test_under_a_new_linkage_secret_only_a_new_study_goes_on_and_its_loss_is_added(study: Study):
    copy, options = str(study.world.root / "new.key"), ("--new-linkage", "--linkage")
    study.operator("study", "create", "oslo", "--owners", "north,south", "--people", "same")
    for name, option in zip(("north", "south"), options, strict=True):
        site = study.world.root / name / "site.toml"
        site.write_text(site.read_text().replace('study = "asia"', 'study = "oslo"'))
        (study.state(name) / "keys" / "linkage.key").unlink()
        study.owner(name, "join", study.invitation(name, "oslo"), option, copy)
        study.owner(name, "publish", "--yes", refused="plan-conflict")
        study.publish(name, "--accept-added-loss")
        assert study.composed(name) == pytest.approx(2 * EPSILON, rel=1e-6)
    # The miner states each study alone: only the owners' ledgers have the sum.
    assert study.epsilon("oslo") == study.epsilon() == pytest.approx(2 * EPSILON, rel=1e-6)
    # In the old study jobs go on, and nothing more is published.
    assert study.learn("north_ill", "south_ill") is not None
    site.write_text(site.read_text().replace('study = "oslo"', 'study = "asia"'))
    study.owner("south", "publish", "--yes", refused="linkage-differs")


# Machines ---------------------------------------------------------------------------------------


def test_an_owner_whose_machine_is_lost_without_a_backup_begins_a_new_epoch(study: Study):
    study.operator("study", "remove", "asia", "north")
    study.operator("study", "invite", "asia", "north")
    shutil.rmtree(study.state("north"))
    copy = str(study.world.root / "copy.key")
    study.owner("south", "keys", "export", "linkage", copy)
    study.owner("north", "join", study.invitation("north"), "--linkage", copy)
    assert study.learn("north_ill", "south_ill") is not None
    study.owner("north", "publish", "--yes", refused="history-lost")
    study.owner("north", "new-epoch")
    study.owner("north", "publish", "--yes", refused="plan-conflict")
    study.publish("north", "--accept-added-loss")
    assert study.epsilon() == pytest.approx(3 * EPSILON, rel=1e-6)
    assert study.learn("north_ill", "south_ill") is not None


def test_releases_that_a_restored_miner_lacks_are_sent_again_to_the_same_bytes(study: Study):
    backup, root = study.world.root / "backup", study.world.root
    study.operator("backup", str(backup))
    table = root / "north" / "table.csv"
    table.write_text(table.read_text() + "P9999,yes,old,x0\n")
    sealed = study.publish("north")
    restored = root / "restored"
    assert CliRunner().invoke(app, ["restore", str(backup), "--data", str(restored)]).exit_code == 0
    with study.served_from(restored):
        assert len(study.releases("north")) == 1
        again = study.publish("north")
        assert (again["already"], again["digest"]) == (False, sealed["digest"])
        assert study.publish("south")["already"]
        assert study.epsilon() == pytest.approx(2 * EPSILON, rel=1e-6)
    assert study.composed("north") == pytest.approx(EPSILON, rel=1e-6)


def test_owners_publish_the_same_bytes_to_a_miner_that_was_lost_without_a_backup(study: Study):
    """The study has its old name, or all would be drawn anew."""
    before = [study.releases(name)[0]["digest"] for name in ("north", "south")]
    new = study.world.root / "new-data"
    with study.served_from(new):
        token = study.world.root / "new.token"
        rotate = ("admin-token", "--rotate", "--admin-token-file", str(token), "--data", str(new))
        assert CliRunner().invoke(app, [*rotate]).exit_code == 0
        study.world.admin, study.data = token.read_text().strip(), new
        study.operator("study", "create", "asia", "--owners", "north,south", "--people", "same")
        for name in ("north", "south"):
            study.owner(name, "join", study.invitation(name))
            assert not study.publish(name)["already"]
            assert study.composed(name) == pytest.approx(EPSILON, rel=1e-6)
        assert [study.releases(name)[0]["digest"] for name in ("north", "south")] == before


# An owner that leaves ----------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [True, False])
def test_others_go_on_without_an_owner_that_leaves(study: Study, kept: bool):
    """Its token is revoked, and its releases stay; or it withdraws them and is removed."""
    model, token = study.learn("north_ill", "south_ill"), study.token("north")
    (release,) = study.releases("north")
    if kept:
        assert study.admin("DELETE", f"/v1/tokens/{token.split('.')[0]}").status_code == 204
    else:
        study.owner("north", "withdraw", release["id"])
        study.operator("study", "remove", "asia", "north")
    assert study.status(token) == 401
    (release,) = study.releases("north")
    assert release["state"] == ("sealed" if kept else "withdrawn")
    assert (study.data / "columns" / f"{release['id']}.arrow").exists() is kept
    assert (study.learn("north_ill") is not None) is kept
    # Models and the loss stay, and the others publish on.
    assert study.model(model["id"]) == model
    assert study.epsilon() == pytest.approx(2 * EPSILON, rel=1e-6)
    table = study.world.root / "south" / "table.csv"
    table.write_text(table.read_text() + "P9999,yes,old,x0\n")
    assert not study.publish("south")["already"]
    # The releases that stay do not have the new record.
    assert (study.learn("south_ill") is None) is kept
    assert study.learn("south_ill", records="any")["records"] == 41
