"""What every kind of release keeps to: randomized records, masked records, trees, private trees."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter

import httpx
import joblib  # noqa: F401 - at its import it tries out whether there is room for a semaphore
import pytest

from owner_agent.cli import releasing
from owner_agent.randomize.reports import Randomizer
from owner_agent.release import publish as steps
from owner_agent.release.approval import Approval
from owner_agent.release.composition import spent
from owner_agent.release.delivery import withdraw
from owner_agent.release.ledger import Ledger
from owner_agent.release.options import PublishOptions
from owner_agent.release.outbox import MANIFEST
from owner_agent.state.keys import KeyStore
from owner_agent.state.lock import publishing_alone
from owner_agent.table import table as tables
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import (
    ChangedSinceShown,
    ConfigError,
    Conflict,
    HistoryLost,
    KeyFileError,
    PlanConflict,
    RecordsCorrected,
    Refused,
    StoreCorrupt,
    StudyPlanNotFollowed,
    TransportError,
    Unauthenticated,
    Unreachable,
)
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from pramana_core.wire.releases import ReleaseCreate
from tests.owner_agent.release.kinds import HEAD, KINDS, TREE, Kind


@pytest.fixture(params=KINDS)
def kind(request, bench) -> Kind:
    """Each kind, at a bench whose site is one of it."""
    KINDS[request.param].write(bench)
    return KINDS[request.param]


def states(bench):
    return [entry.state for entry in Ledger(bench.state).entries()]


def prepared_manifest(bench):
    """Return the manifest that is in the outbox."""
    (path,) = (bench.state / "outbox").glob(f"*/{MANIFEST}")
    return ReleaseCreate.model_validate_json(path.read_bytes())


class TestWhatLeaves:
    def test_is_what_was_announced_and_what_the_ledger_has(self, kind, bench):
        outcome = kind.publish(bench)
        (release,) = bench.miner.sealed()
        manifest = release["manifest"]
        assert outcome.name == manifest.name == f"r-{manifest.digest[:12]}"
        assert (outcome.already, outcome.parts, outcome.records) == (
            False, kind.parts, len(kind.rows),
        )  # fmt: skip
        for part in manifest.parts:
            assert hashlib.sha256(release["bodies"][part.number]).hexdigest() == part.sha256
        (entry,) = Ledger(bench.state).entries()
        assert (entry.name, entry.state, entry.kind) == (manifest.name, "sealed", manifest.kind)
        assert entry.digest == manifest.digest
        assert entry.draws

    def test_is_the_same_in_another_order_of_rows_and_again(self, kind, bench):
        first = kind.publish(bench)
        sent = len(bench.miner.requests)
        bench.write(kind.site, kind.table(kind.rows[::-1]))
        before = bench.files()
        again = kind.publish(bench, part_records=7)
        assert (again.already, again.asked, again.name) == (True, True, first.name)
        new = [f"{r.method} {r.url.path.rsplit('/', 1)[-1]}" for r in bench.miner.requests[sent:]]
        assert new == ["GET releases", "POST releases"]
        assert bench.files() == before

    def test_needs_no_outbox_any_more_once_it_is_sealed(self, kind, bench):
        kind.publish(bench)
        shutil.rmtree(bench.state / "outbox")
        lines = list(bench.miner.lines)
        again = kind.publish(bench)
        assert (again.already, again.asked) == (True, False)
        assert bench.miner.lines == lines

    def test_is_sent_again_to_a_miner_that_lost_it(self, kind, bench):
        first = kind.publish(bench)
        (before,) = bench.miner.sealed()
        bench.miner.releases.clear()
        again = kind.publish(bench, part_records=7)
        (after,) = bench.miner.sealed()
        assert (again.already, again.name) == (kind.parts == 0, first.name)
        assert (after["manifest"], after["bodies"]) == (before["manifest"], before["bodies"])

    def test_holds_no_id_and_the_ledger_no_value(self, kind, bench):
        kind.publish(bench)
        sent = b"".join(request.content for request in bench.miner.requests)
        ledger = (bench.state / "ledger.sqlite").read_bytes()
        for row in kind.rows:
            name = row.split(",")[0].encode()
            assert name not in sent
            assert name not in ledger


class TestInterruptions:
    @pytest.mark.slow
    @pytest.mark.parametrize("when", ["before", "after"])
    @pytest.mark.parametrize("number", range(8))
    def test_killed_around_any_request_it_goes_on_with_the_same_bytes(
        self, kind, bench, killed, when, number
    ):
        bench.miner.faults = [None] * number + [(when, killed())]
        try:
            kind.publish(bench)
        except killed:
            assert not bench.miner.faults
        manifest = prepared_manifest(bench)
        bench.miner.faults = []
        kind.publish(bench)
        (release,) = bench.miner.sealed()
        assert release["manifest"] == manifest
        assert states(bench) == ["sealed"]
        # Nothing the miner has acknowledged is sent again.
        sent = [line for line in bench.miner.lines if line.startswith("PUT")]
        assert len(sent) - kind.parts in (0, 1)

    @pytest.mark.slow
    @pytest.mark.parametrize("fault", [httpx.ReadError("cut"), httpx.ReadTimeout("slow"), 503])
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_every_request_is_tried_again(self, kind, bench, fault, when):
        bench.attempts = 2
        bench.miner.faults = [(when, fault), None] * 8
        kind.publish(bench)
        assert len(bench.miner.sealed()) == 1
        assert set(bench.slept) == {0.5}

    def test_a_miner_that_is_down_leaves_it_in_the_outbox_and_names_the_command(self, kind, bench):
        bench.attempts = 4
        bench.miner.faults = [("before", httpx.ConnectError("refused"))] * 4
        with pytest.raises(Unreachable) as raised:
            kind.publish(bench)
        assert f"`{kind.command}`" in raised.value.remedy
        assert bench.slept == [0.5, 1.0, 2.0]
        assert states(bench) == ["prepared"]
        assert prepared_manifest(bench).kind == kind.make.kind
        kind.publish(bench)
        assert states(bench) == ["sealed"]

    @pytest.mark.parametrize("step", ["upsert_entry", "prepare"])
    def test_killed_between_outbox_and_ledger(self, kind, bench, monkeypatch, killed, step):
        def die(*_):
            raise killed

        monkeypatch.setattr(steps, step, die)
        with pytest.raises(killed):
            kind.publish(bench)
        monkeypatch.undo()
        kind.publish(bench)
        assert states(bench) == ["sealed"]

    def test_what_never_left_is_replaced_by_another_way(self, kind, bench):
        bench.miner.faults = [("before", httpx.ConnectError("down"))]
        with pytest.raises(Unreachable):
            kind.publish(bench)
        old = prepared_manifest(bench).name
        bench.write(kind.site.replace(*kind.others[0]))
        kind.publish(bench, accept_added_loss="private" in kind.site)
        assert states(bench) == ["discarded", "sealed"]
        assert not (bench.state / "outbox" / old).exists()

    def test_on_a_full_disk_nothing_is_done_by_halves(self, kind, bench):
        bench.done_where_room_is_short(lambda: kind.publish(bench))
        # A private tree is drawn once, however often it was tried.
        assert len({r["manifest"].digest for r in bench.miner.releases.values()}) == 1

    def test_a_damaged_outbox_is_not_sent(self, kind, bench, killed):
        bench.miner.faults = [None, None, ("before", killed())]
        with pytest.raises(killed):
            kind.publish(bench)
        for path in sorted((bench.state / "outbox").rglob("*.*")):
            whole = path.read_bytes()
            path.write_bytes(whole[:-9])
            with pytest.raises(StoreCorrupt) as refused:
                kind.publish(bench)
            assert path.parent.name in refused.value.where
            path.write_bytes(whole)
        assert bench.miner.sealed() == []


class TestRefusals:
    def test_withdrawn_stays_withdrawn(self, kind, bench):
        name = kind.publish(bench).name
        withdraw(bench.site, name, bench.environment)
        (entry,) = Ledger(bench.state).entries()
        assert (entry.state, entry.release_id) == ("withdrawn", f"asia.{name}")
        lines = list(bench.miner.lines)
        with pytest.raises(Conflict) as refused:
            kind.publish(bench)
        assert refused.value.where == name
        assert bench.miner.lines == lines

    def test_withdrawn_at_the_miner(self, kind, bench):
        kind.publish(bench)
        (release,) = bench.miner.releases.values()
        release["state"] = "withdrawn"
        with pytest.raises(Conflict):
            kind.publish(bench)
        assert states(bench) == ["withdrawn"]

    def test_a_corrected_record_is_no_second_release_without_a_yes(self, kind, bench):
        kind.publish(bench)
        changed = kind.rows[1:]
        if kind.make is steps.PreparedRecords:
            changed = [kind.rows[0].replace(",no,", ",yes,"), *changed]
        bench.write(kind.site, kind.table(changed))
        with pytest.raises((PlanConflict, RecordsCorrected)):
            kind.publish(bench)
        assert len(bench.miner.releases) == 1
        kind.publish(bench, accept_added_loss=True, corrections="keep")
        assert len(bench.miner.sealed()) == 2 - (kind.make is steps.PreparedRecords)

    def test_another_way_to_make_it_is_refused_and_its_loss_counts_once_accepted(self, kind, bench):
        kind.publish(bench)
        before, files = spent(Ledger(bench.state).entries()), bench.files()
        for other in kind.others:
            assert other[0] in kind.site
            bench.write(kind.site.replace(*other))
            with pytest.raises(PlanConflict) as refused:
                kind.publish(bench)
            assert refused.value.where
        assert bench.files() == files
        bench.write(kind.site.replace(*kind.others[0]))
        kind.publish(bench, accept_added_loss=True)
        after = spent(Ledger(bench.state).entries())
        assert all(after[column] >= before[column] for column in before)
        assert any(after[column] > before[column] for column in before) or (
            set(before.values()) == {float("inf")}
        )

    @pytest.mark.parametrize("secret", ["draw.key", "linkage.key", "asia.token"])
    def test_without_a_secret_nothing_is_made(self, kind, bench, secret):
        (path,) = bench.state.rglob(secret)
        path.unlink()
        if secret == "linkage.key" and kind.parts == 0:  # It has no pseudonyms.
            assert kind.publish(bench).records
            return
        with pytest.raises(Unauthenticated if "token" in secret else KeyFileError):
            kind.publish(bench)
        assert not (bench.state / "outbox").exists()
        assert bench.miner.requests == []

    def test_without_the_ledger_or_beside_an_older_one_nothing_leaves(self, kind, bench):
        shutil.copy(bench.state / "ledger.sqlite", bench.folder / "old")
        kind.publish(bench)
        for lose in (
            lambda path: path.unlink(),
            lambda path: shutil.copy(bench.folder / "old", path),
        ):
            lose(bench.state / "ledger.sqlite")
            before, lines = bench.files(), list(bench.miner.lines)
            with pytest.raises(HistoryLost) as refused:
                kind.publish(bench)
            assert "new-epoch" in refused.value.remedy
            assert bench.files() == before
            assert bench.miner.lines == lines

    def test_a_wrong_token_and_a_wrong_answer(self, kind, bench):
        bench.miner.good = []
        with pytest.raises(Refused) as refused:
            kind.publish(bench)
        assert (refused.value.status, refused.value.exit_code) == (401, 4)
        assert states(bench) == ["prepared"]

        class Liar(type(bench.miner)):
            def _describe(self, identity):
                return {**super()._describe(identity), "digest": "0" * 64}

        bench.miner = Liar()
        with pytest.raises(TransportError):
            kind.publish(bench)
        assert not bench.miner.sealed() or not kind.parts

    def test_two_publications_at_once(self, kind, bench):
        with publishing_alone(bench.state), pytest.raises(Conflict):
            kind.publish(bench)
        assert bench.miner.requests == []

    def test_the_studys_plan_is_not_left(self, kind, bench):
        column = {"randomized-records": "region", "masked-records": "debt"}.get(
            kind.make.kind, "ward"
        )
        part = StudyPart(0, (0,), Symmetric.from_gamma(2, 3.0))
        variable = Variable(column, ("no", "yes"))
        sets = (StudySet(1 << 30, (part,)),)
        bench.miner.study_plan = StudyPlan((("clinic-south", (variable,)),), sets)
        with pytest.raises(StudyPlanNotFollowed):
            kind.publish(bench)
        assert not bench.miner.releases

    def test_a_site_of_another_kind(self, kind, bench):
        for other in KINDS.values():
            if other.make is not kind.make:
                with pytest.raises(ConfigError):
                    other.publish(bench)
        assert bench.miner.requests == []


COLUMN = "age"
_VARIABLE = f'[[variables]]\nname = "years"\ncolumn = "{COLUMN}"\ncuts = [40, 60]\n'
_WARDS = '{ column = "ward", categories = ["north", "south", "east", "west"] }'
FORMS = {
    "randomized": (
        "records",
        _VARIABLE + 'sensitive = true\nchannel = { kind = "symmetric", p = 0.4 }\n',
    ),
    "as it is": ("records", _VARIABLE + "sensitive = false\n"),
    "masked": ("masked", f'[mask]\nconfidential = ["{COLUMN}"]\ntell = [{_WARDS}]\n'),
    "in a tree": ("tree", TREE.removeprefix(HEAD)),
}


@pytest.mark.parametrize("before", FORMS)
@pytest.mark.parametrize("now", FORMS)
def test_a_column_that_left_in_one_form_leaves_in_no_other(bench, before, now):
    for form in (before, now):
        kind, section = FORMS[form]
        bench.write(HEAD + section, KINDS["tree"].table())
        if form == now != before:
            with pytest.raises(PlanConflict) as refused:
                KINDS[kind].publish(bench)
            assert COLUMN in refused.value.where
        KINDS[kind].publish(bench, accept_added_loss=True)
    assert len(bench.miner.sealed()) == 1 + (before != now)


@pytest.fixture
def counted(monkeypatch):
    """How often a table is read, and how many records are drawn."""
    found = Counter()
    opened, randomized = tables._open_csv, Randomizer.randomized

    def noted(*words):
        found["reads"] += 1
        return opened(*words)

    def drawing(self, keys, columns):
        found["draws"] += len(keys)
        return randomized(self, keys, columns)

    monkeypatch.setattr(tables, "_open_csv", noted)
    monkeypatch.setattr(Randomizer, "randomized", drawing)
    return found


@pytest.fixture
def answers(monkeypatch):
    """Have commands ask, and give them an answer."""

    def answer(how):
        monkeypatch.setattr(releasing, "at_terminal", lambda: True)
        monkeypatch.setattr(releasing.typer, "confirm", lambda *_words, **_options: how())

    return answer


class TestApproval:
    def test_a_yes_to_something_else_sends_nothing(self, kind, bench):
        with pytest.raises(ChangedSinceShown):
            steps.publish(
                kind.make, bench.site, bench.environment, PublishOptions(),
                approval=Approval("0" * 64),
            )  # fmt: skip
        assert bench.miner.requests == []

    @pytest.mark.parametrize("again", [False, True])
    def test_a_command_that_asks_reads_the_table_once_and_draws_once(
        self, kind, bench, command, counted, answers, again
    ):
        if again:
            kind.publish(bench)
            bench.write(kind.site, kind.table(kind.rows[::-1]))
        counted.clear()
        answers(lambda: True)
        ended = command(*kind.command.split()[1:], "--no-report")
        assert ended.exit_code == 0, ended.err
        assert len(bench.miner.sealed()) == 1
        drawn = len(kind.rows) if kind.make is steps.PreparedRecords else 0
        assert (counted["reads"], counted["draws"]) == (1, drawn)

    @pytest.mark.parametrize("what", ["site.toml", "patients.csv"])
    def test_a_command_sends_nothing_that_changed_while_it_asked(
        self, kind, bench, command, answers, what
    ):
        def change():
            path = bench.folder / what
            path.write_text(
                path.read_text().replace("clinic-north", "clinic-n").replace("0,", "1,")
            )
            return True

        answers(change)
        ended = command(*kind.command.split()[1:], "--no-report")
        assert "changed-since-shown" in ended.err
        assert not bench.miner.releases
        assert not (bench.state / "outbox").exists()

    def test_a_no_sends_nothing(self, kind, bench, command, answers):
        answers(lambda: False)
        assert command(*kind.command.split()[1:], "--no-report").exit_code == 0
        assert not bench.miner.releases
        assert Ledger(bench.state).entries() == ()


def test_a_key_that_came_past_the_ledger_draws_nothing(kind, bench):
    secret = KeyStore(bench.state).read("draw")
    path = KeyStore(bench.state).path("draw")
    path.unlink()
    other = secret[::-1]
    path.write_text(other.hex())
    path.chmod(0o600)
    with pytest.raises(HistoryLost) as refused:
        kind.publish(bench)
    assert refused.value.where == str(path)
    assert bench.miner.requests == []
