"""Custodians who ask what the whole study reveals, against a miner in this process."""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest

import pramana as pm
from miner_service.http.app import create_app
from miner_service.http.server import exclusive
from miner_service.settings import Settings
from miner_service.store.tokens import rotate_admin_token
from owner_agent.cli.main import build
from owner_agent.state.environment import Environment
from pramana_core.privacy import ShuffledReport, central_loss
from pramana_core.rounding import rounded_up
from pramana_core.terminal import run
from pramana_core.wire.privacy import CentralMessage
from tests.miner_service.crew import crew_of
from tests.miner_service.http.pages.browsers import Browser
from tests.miner_service.masking import masked

with warnings.catch_warnings():
    # It warns that it would rather have another HTTP client than the one we pin; it works with it.
    warnings.simplefilter("ignore", UserWarning)
    from fastapi.testclient import TestClient

GAMMAS = {"north": 3, "south": 87, "west": 675}


class Through(httpx.BaseTransport):
    """Carries an agent's requests to a miner in this process."""

    def __init__(self, client: TestClient) -> None:
        self.client, self.down = client, False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.down:
            raise httpx.ConnectError("down")
        answer = self.client.request(
            request.method,
            request.url.raw_path.decode(),
            content=request.read(),
            headers=dict(request.headers),
        )
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """What was printed, on one line."""
        return " ".join(self.out.split())


@dataclass
class World:
    """A miner, and owners' folders."""

    root: Path
    client: TestClient
    admin: str
    transport: Through
    call: Callable[..., Ended]

    def rest(self, method: str, path: str, **body: Any) -> Any:
        """Send a request as the admin."""
        headers = {"Authorization": f"Bearer {self.admin}"}
        answer = self.client.request(method, path, json=body or None, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    def owner(self, name: str, gamma: float, variables: str = "", rows: int = 40) -> None:
        """Make an owner's folder and let it join the study."""
        home = self.root / name
        home.mkdir()
        lines = ["id,ill,age,town"]
        lines += [f"P{i:04d},{'yes' if i % 4 else 'no'},old,x{i % 2}" for i in range(rows)]
        (home / "table.csv").write_text("\n".join(lines) + "\n")
        (home / "site.toml").write_text(
            f'owner = "{name}"\ntable = "table.csv"\nrecord_id = "id"\n'
            '[miner]\nurl = "http://127.0.0.1:9"\nstudy = "asia"\n'
            f'[[variables]]\nname = "{name}_ill"\ncolumn = "ill"\ncategories = ["no", "yes"]\n'
            f'sensitive = true\nchannel = {{ kind = "symmetric", gamma = {gamma} }}\n{variables}'
        )
        linkage = self.root / "linkage.key"
        linkage.touch(mode=0o600)
        linkage.write_text(bytes(range(7, 39)).hex())
        assert self.call(name, "keys", "create").code == 0
        assert self.call(name, "keys", "import", "linkage", str(linkage)).code == 0
        invited = self.rest("POST", "/v1/studies/asia/invitations", owner=name)
        secret = home / "invitation"
        secret.write_text(invited["secret"])
        assert self.call(name, "join", "--secret-file", str(secret)).code == 0


@pytest.fixture
def world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[World]:
    """A miner without studies."""
    with exclusive(tmp_path / "miner-data"):
        app = create_app(Settings(tmp_path / "miner-data"), crew=crew_of())
    with TestClient(app, raise_server_exceptions=False) as client:
        with app.state.services.database.write() as session:
            token = rotate_admin_token(session, app.state.services.now()).text
        transport = Through(client)
        environment = Environment(transport=transport, sleep=lambda _: None, attempts=2)

        def call(owner: str, *words: str) -> Ended:
            site = str(tmp_path / owner / "site.toml")
            monkeypatch.setattr(sys, "argv", ["owner-agent", *words, "--site", site])
            monkeypatch.setenv("COLUMNS", "100")
            capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                run(build(environment))
            captured = capsys.readouterr()
            return Ended(int(ended.value.code or 0), captured.out, captured.err)

        yield World(tmp_path, client, token, transport, call)


@pytest.fixture
def three(world: World) -> World:
    """The study of the threat model: owners at gamma 3, 87 and 675, two of which have published."""
    world.rest("POST", "/v1/studies", name="asia")
    for name, gamma in GAMMAS.items():
        world.owner(name, gamma)
    for name in ("south", "west"):
        assert world.call(name, "publish", "--yes").code == 0
    return world


def local(privacy: dict[str, Any]) -> dict[str, Any]:
    """Leave out the central bound, which an owner is not shown and a list of studies lacks."""
    return {name: value for name, value in privacy.items() if name != "central"}


@pytest.mark.slow
def test_a_custodian_asks_what_the_whole_study_reveals(three: World):
    """Her own release has gamma 3; the study with it proves nearly all."""
    as_json = json.loads(three.call("north", "plan", "--json").out)
    determined = as_json["study"]["after"]["record"]["determined"]
    assert determined["gamma"] == pytest.approx(176_175, rel=1e-5)
    assert as_json["study_unknown"] is None

    assert three.call("north", "publish", "--yes").code == 0
    # Again, and with more records, the draws are the same: nothing is added.
    again = json.loads(three.call("north", "publish", "--yes", "--json").out)
    assert again["already"]
    assert local(again["study"]["before"]) == local(again["study"]["after"])
    table = three.root / "north" / "table.csv"
    table.write_text(table.read_text() + "P9999,yes,old,x0\n")
    more = json.loads(three.call("north", "publish", "--yes", "--json").out)
    assert not more["already"]
    assert local(more["study"]["before"]) == local(more["study"]["after"])

    said = three.rest("GET", "/v1/studies/asia/privacy")
    assert said["record"]["determined"] == more["study"]["after"]["record"]["determined"]
    (shown,) = three.rest("GET", "/v1/dashboard")["studies"]
    assert local(shown["privacy"]) == local(said)
    assert f"{said['record']['determined']['grows_to']:.2%}" == "99.99%"


@pytest.mark.slow
def test_owner_miner_and_analyst_call_a_release_the_same(three: World):
    """By the ledger and by every list that has it; what another study has too is called anew."""
    made = json.loads(three.call("south", "publish", "--yes", "--json").out)
    assert made["already"]
    (left,) = json.loads(three.call("south", "ledger", "--json").out)["releases"]
    called = left["release"]
    assert called in three.call("south", "ledger").words
    (here,) = [r for r in three.rest("GET", "/v1/studies/asia/releases")["items"]
               if r["owner"] == "south"]  # fmt: skip
    assert {called} == {made["name"], made["release_id"], left["release_id"], here["id"]}
    token = three.rest("POST", "/v1/studies/asia/tokens", name="ana")["token"]
    study = pm.connect("http://127.0.0.1:9", token=token, transport=three.transport).study("asia")
    listed = study.releases().set_index("owner")
    assert listed.loc["south", ["id", "name"]].tolist() == [called, called]
    assert called in study.alignment().to_frame()["release"].tolist()

    three.rest("POST", "/v1/studies", name="oslo")
    invited = three.rest("POST", "/v1/studies/oslo/invitations", owner="bank")["secret"]
    token = three.rest("POST", "/v1/invitations/accept", secret=invited)["token"]
    own = f"r-{masked(range(30), seed=1).body['digest'][:12]}"
    taken = ((called, False), ("r-0123456789ab", False), (own, True), ("by-hand", False))
    for name, same in taken:
        other = three.client.post(
            "/v1/studies/oslo/releases",
            json=masked(range(30), name=name, seed=1).body,
            headers={"Authorization": f"Bearer {token}"},
        )
        assert other.status_code == 201, other.text
        assert (other.json()["id"] == name) is same


@pytest.mark.slow
def test_a_plan_goes_on_where_the_whole_study_is_not_known(three: World):
    """Without an answer, and before the site has joined; only a release needs the miner."""
    three.transport.down = True
    assert json.loads(three.call("north", "plan", "--json").out)["study"] is None
    assert three.call("north", "publish", "--yes").code == 5
    three.transport.down = False
    (three.root / "north" / ".pramana" / "tokens" / "asia.token").unlink()
    assert json.loads(three.call("north", "plan", "--json").out)["study"] is None


@pytest.mark.slow
def test_a_new_channel_for_a_column_that_left_adds(three: World):
    three.call("north", "publish", "--yes")
    site = three.root / "north" / "site.toml"
    site.write_text(site.read_text().replace("gamma = 3", "gamma = 2"))
    told = json.loads(three.call("north", "plan", "--json").out)["study"]
    (column,) = [c for c in told["after"]["columns"] if c["owner"] == "north"]
    assert column["amplification"]["gamma"] == pytest.approx(6, rel=1e-6)


@pytest.mark.slow
def test_records_drawn_anew_after_a_correction_add_and_kept_reports_do_not(three: World):
    assert three.call("north", "publish", "--yes").code == 0
    table = three.root / "north" / "table.csv"
    table.write_text(table.read_text().replace("P0001,yes", "P0001,no"))

    def added(*words: str) -> float:
        told = json.loads(three.call("north", "publish", "--yes", "--json", *words).out)["study"]
        before, after = (told[when]["record"]["determined"] for when in ("before", "after"))
        assert three.rest("GET", "/v1/studies/asia/privacy")["record"]["determined"] == after
        return float(after["epsilon"] - before["epsilon"])

    assert added("--corrections", "keep") == 0
    # So many that some report differs, whatever the keys are: of one it may not.
    table.write_text(re.sub(r"P0(\d\d\d),yes", r"P0\1,no", table.read_text()))
    assert three.call("north", "new-epoch", "--yes").code == 0
    assert added("--accept-added-loss") == pytest.approx(math.log(3), rel=1e-6)
    # Drawn once, the new draws are those of the next release too.
    table.write_text(table.read_text() + "P8888,yes,old,x0\n")
    assert added() == 0


# The budget --------------------------------------------------------------------------------------


AGE = (
    '[[variables]]\nname = "age"\ncategories = ["young", "old"]\nsensitive = true\n'
    'channel = { kind = "symmetric", gamma = 2 }\n'
)


@pytest.mark.slow
def test_a_plan_states_its_central_bound_at_the_delta_of_the_study(world: World):
    central = {"max_central_epsilon": 5.0, "central_delta": 1e-5, "central_records": 3}
    world.rest("POST", "/v1/studies", name="asia", **central)
    world.owner("north", 3, AGE)
    told = json.loads(world.call("north", "plan", "--json").out)
    assert told["central"]["delta"] == 1e-5
    assert "at delta 1e-05" in " ".join(world.call("north", "plan").out.split())
    mine = [ShuffledReport.of(pm.Symmetric.from_gamma(2, gamma)) for gamma in (3, 2)]
    report = ShuffledReport.together(mine)
    assert told["central"]["epsilon"] == central_loss(report, 40, 1e-5).epsilon


@pytest.mark.slow
@pytest.mark.parametrize("sampled", [False, True])
def test_every_view_states_the_same_central_bound(world: World, sampled: bool):
    """A column of 64 categories, and pairs of three columns: terminal, REST, browser, pm."""
    sizes = {"a": 4, "b": 4, "c": 4} if sampled else {"place": 64}
    domain = pm.Domain.of(**{name: [f"x{i}" for i in range(k)] for name, k in sizes.items()})
    keys = {"kind": "sampled", "size": 2} if sampled else {"kind": "symmetric"}
    keys["gamma"] = 19
    channel = f"channel = {{ {', '.join(f'{k} = {json.dumps(v)}' for k, v in keys.items())} }}\n"
    world.rest("POST", "/v1/studies", name="asia")
    world.owner("north", 3)
    home, rng = world.root / "north", np.random.default_rng(3)
    table = pd.DataFrame({v.name: rng.choice(v.categories, 3_000) for v in domain})
    table.to_csv(home / "table.csv", index_label="id")
    site = (home / "site.toml").read_text().split("[[variables]]")[0]
    for v in domain:
        site += f'[[variables]]\nname = "{v.name}"\ncategories = {json.dumps(v.categories)}\n'
        site += "sensitive = true\n" + ("" if sampled else channel)
    if sampled:
        site += f"[[blocks]]\nvariables = {json.dumps(domain.names)}\n{channel}"
    (home / "site.toml").write_text(site)

    found = json.loads(world.call("north", "plan", "--json").out)["central"]
    assert (found["known_set"] is not None) == sampled
    generic = central_loss(ShuffledReport.of_gamma(19), 3_000).epsilon
    assert found["epsilon"] < 0.9 * generic
    plan = pm.plan(domain, {domain.names if sampled else "place": keys})
    reports = pm.randomize(table, plan, pm.Keys.for_experiments(1), record_id=table.index)
    assert reports.central_epsilon() == found["epsilon"]
    known = reports.central_epsilon(known_set=True)
    assert known == found["known_set" if sampled else "epsilon"]

    assert world.call("north", "publish", "--yes").code == 0
    assert world.rest("GET", "/v1/studies/asia/privacy")["central"] == found
    token = world.rest("POST", "/v1/studies/asia/tokens", name="ana")["token"]
    miner = pm.connect("http://127.0.0.1:9", token=token, transport=world.transport)
    disclosure = miner.study("asia").disclosure()
    assert disclosure.central.model_dump() == found
    assert CentralMessage.model_validate(found).description in repr(disclosure)
    browser = Browser(SimpleNamespace(app=world.client.app))
    browser.sign_in(token)
    miner.study("asia").table(domain.names[0]).wait()
    (model,) = miner.study("asia").models()["id"]
    assert world.rest("GET", f"/v1/models/{model}")["central"] == found
    pages = [browser.get(f"/pages/studies/asia{part}").text for part in ("", "/privacy")]
    model_page = browser.get(f"/pages/models/{model}/page").text
    printed = world.call("north", "plan", "--report", str(home / "plan.html")).words
    report = (home / "plan.html").read_text()
    for name in ("epsilon", "known_set") if sampled else ("epsilon",):
        shown = rounded_up(found[name])
        assert all(f"<dd>{shown}</dd>" in page for page in pages)
        assert f"<b>ε = {shown}</b>" in model_page
        assert shown in printed
        assert shown in report


@pytest.fixture
def limited(world: World) -> World:
    """A study with a budget, of which one owner has used a part."""
    world.rest("POST", "/v1/studies", name="asia", max_epsilon_record=2.5, max_epsilon_column=1.2)
    world.owner("south", 3)
    world.owner("north", 3, AGE)
    assert world.call("south", "publish", "--yes").code == 0
    return world


@pytest.mark.slow
def test_a_release_over_the_budget_is_stopped_before_anything_is_randomized(limited: World):
    told = json.loads(limited.call("north", "plan", "--json").out)["study"]
    assert told["refused"]
    assert told["before"]["budget"]["left_for_record"] == pytest.approx(1.401, abs=1e-3)
    stopped = limited.call("north", "publish", "--yes")
    assert stopped.code == 4
    assert "(budget-exceeded)" in stopped.err
    assert not (limited.root / "north" / ".pramana" / "outbox").exists()
