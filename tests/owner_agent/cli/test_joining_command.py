"""`owner-agent join INVITATION`: keys, the study's plan, her yes; and previews without keys."""

import io
import re
import shutil

import pytest

from owner_agent.cli import study
from owner_agent.site.site import load_site
from owner_agent.state.keys import KeyStore
from pramana_core.errors import KeyFileError
from pramana_core.wire.privacy import InvitationFile
from tests.owner_agent.conftest import NOW
from tests.owner_agent.site.plans import PLAN, study_plan

SHARED, OTHER = "ab12" * 16, "cd34" * 16


@pytest.fixture
def newcomer(bench, site_text):
    """A site before its study's plan, without keys and token; the invitation is beside it."""
    shutil.rmtree(bench.state)
    text = re.sub(r"channel = .*\n", "", site_text)
    bench.write(re.sub(r"\[miner\]\n.*\n.*\n", "", text))
    bench.miner.study_plan = PLAN
    bench.invitation = bench.folder / "asia-clinic-north.invitation"
    told = InvitationFile(
        miner="http://127.0.0.1:9", study="asia", owner="clinic-north", expires=NOW,
        secret=bench.miner.invitation,
    )  # fmt: skip
    bench.invitation.write_text(told.model_dump_json())
    bench.linkage = bench.folder / "linkage.key"
    bench.linkage.write_text(SHARED)
    bench.linkage.chmod(0o600)
    return bench


@pytest.fixture
def join(newcomer, command):
    """Join with the invitation."""
    return lambda *words: command("join", str(newcomer.invitation), *words)


def test_one_command_from_an_invitation_to_a_site_that_publishes(newcomer, join, command):
    before = (newcomer.folder / "site.toml").read_text()
    assert command("check").exit_code == 0
    ended = join("--linkage", str(newcomer.linkage), "--yes")
    assert ended.exit_code == 0, ended.err
    said = " ".join(ended.out.split())
    assert "Joined study asia as clinic-north. Wrote the miner's address into" in said
    assert "Created your draw key" in said
    assert "Imported the owners' linkage secret." in said
    assert f"The study plan {PLAN.digest} bounds the privacy loss" in said
    after = (newcomer.folder / "site.toml").read_text()
    assert after.startswith(before.rstrip())
    site = load_site(newcomer.folder / "site.toml")
    assert (site.miner.study, site.file.study_plan.digest) == ("asia", PLAN.digest)
    keys = KeyStore(newcomer.state)
    assert keys.read("linkage").hex() == SHARED
    for secret in (newcomer.miner.invitation, SHARED, keys.read("draw").hex()):
        assert secret not in ended.out + ended.err
    assert command("plan", "--no-report").exit_code == 0
    assert command("publish", "--yes").exit_code == 0
    assert len(newcomer.miner.sealed()) == 1


def test_a_linkage_secret_is_replaced_until_something_was_published(newcomer, join, command):
    other = newcomer.folder / "other.key"
    other.write_text(OTHER)
    other.chmod(0o600)
    for file, content in ((newcomer.linkage, SHARED), (other, OTHER)):
        assert join("--linkage", str(file), "--yes").exit_code == 0
        assert KeyStore(newcomer.state).read("linkage").hex() == content
    assert command("publish", "--yes").exit_code == 0
    assert join("--linkage", str(newcomer.linkage), "--yes").exit_code == KeyFileError.exit_code
    assert KeyStore(newcomer.state).read("linkage").hex() == OTHER


def test_a_lost_draw_key_leads_to_the_backup_or_a_new_epoch(newcomer, join, command):
    first = command("keys", "create")
    assert (first.exit_code, first.err) == (0, "")
    join("--linkage", str(newcomer.linkage), "--yes")
    (newcomer.state / "keys" / "draw.key").unlink()
    lost, again = command("publish", "--yes"), command("keys", "create")
    assert (lost.exit_code, again.exit_code) == (KeyFileError.exit_code, 0)
    assert all("new-epoch" in done.err for done in (lost, again))


def test_again_is_harmless_and_asks_for_no_invitation(newcomer, join, command):
    join("--linkage", str(newcomer.linkage), "--yes")
    files, site = newcomer.files(), (newcomer.folder / "site.toml").read_text()
    for again in (join("--yes"), command("join")):
        assert again.exit_code == 0, again.err
    assert newcomer.files() == files
    assert (newcomer.folder / "site.toml").read_text() == site


def test_without_her_yes_nothing_is_kept(newcomer, join):
    ended = join("--linkage", str(newcomer.linkage))
    assert ended.exit_code == 0
    assert "run `owner-agent join --yes`" in ended.out
    assert load_site(newcomer.folder / "site.toml").file.study_plan is None
    assert not (newcomer.folder / "study-plan.json").exists()


@pytest.mark.parametrize(("answer", "kept"), [("y", True), ("n", False)])
def test_at_a_terminal_she_is_asked(newcomer, join, monkeypatch, answer, kept):
    monkeypatch.setattr(study, "at_terminal", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{answer}\n"))
    assert join("--linkage", str(newcomer.linkage)).exit_code == 0
    assert (load_site(newcomer.folder / "site.toml").file.study_plan is not None) == kept
    assert KeyStore(newcomer.state).read("linkage").hex() == SHARED


def test_the_first_owner_makes_the_linkage_secret_for_the_others(newcomer, join):
    target = newcomer.folder / "for-the-others.key"
    ended = join("--new-linkage", str(target))
    assert ended.exit_code == 0, ended.err
    assert target.stat().st_mode & 0o777 == 0o600
    assert bytes.fromhex(target.read_text().strip()) == KeyStore(newcomer.state).read("linkage")


@pytest.mark.parametrize("people", ["same", "different"])
def test_a_linkage_secret_is_made_only_where_owners_share_none(newcomer, join, people):
    newcomer.miner.people = people
    ended = join()
    assert ended.exit_code == 0, ended.err
    made = KeyStore(newcomer.state).path("linkage").exists()
    assert made == (people == "different")
    assert ("linkage secret is missing" in ended.out) == (people == "same")


def test_it_says_who_is_awaited_and_whose_step_is_next(newcomer, join, command):
    newcomer.miner.study_plan = None
    step = {"what": "design the plan", "command": "owner-agent design PART..."}
    awaited = ["clinic-south", "lab"]
    others = {"who": "custodian", "owners": awaited, "what": "join"}
    steps = [others, {"who": "operator or custodian", **step}]
    newcomer.miner.standing = {"awaited": awaited, "next": steps}
    for said in (join("--linkage", str(newcomer.linkage)), command("join")):
        assert said.exit_code == 0, said.err
        assert "clinic-south, lab" in said.out
        assert "run `owner-agent design --gamma 19 --apply`" in said.out
        assert "the operator or custodian: design the plan: owner-agent design PART" in said.out


def test_an_owner_that_follows_the_plan_is_not_sent_back_to_join(newcomer, join, command):
    what = "store the study's plan (owner-agent join), then publish"
    step = {"who": "custodian", "what": what, "command": "owner-agent publish"}
    both = ["clinic-north", "clinic-south"]
    newcomer.miner.standing = {"awaited": [], "next": [{**step, "owners": both}]}
    refused = join("--linkage", str(newcomer.linkage))
    assert "custodian of clinic-north, clinic-south: store" in refused.out
    for said in (command("join", "--yes"), command("join")):
        assert "custodian of clinic-south: store" in said.out
        assert "for you: owner-agent plan, then owner-agent publish" in said.out
    newcomer.miner.standing["next"][0]["owners"] = ["clinic-north"]
    assert what not in command("join").out


def test_an_invitation_for_somebody_else_is_not_used(newcomer, join, site_text):
    newcomer.write(site_text.replace('"clinic-north"', '"clinic-south"'))
    ended = join("--yes")
    assert ended.exit_code == 2
    assert "The invitation was not used." in ended.err
    assert newcomer.miner.requests == []


def test_another_plan_than_the_one_kept_is_not_taken_silently(newcomer, join, command):
    join("--linkage", str(newcomer.linkage), "--yes")
    newcomer.miner.study_plan = study_plan(first=1 << 29)
    ended = command("join", "--yes")
    assert ended.exit_code == 4
    assert "but the site file names" in ended.err
    assert load_site(newcomer.folder / "site.toml").file.study_plan.digest == PLAN.digest


def test_what_is_no_invitation_is_told_without_a_word_of_it(newcomer, command):
    newcomer.invitation.write_text("some-bare-secret-0123456789")
    ended = command("join", str(newcomer.invitation))
    assert ended.exit_code == 2
    assert "some-bare-secret" not in ended.out + ended.err
