"""The `owner-agent` commands: what they print, what they end with, what they leave behind."""

import io
import json
import math

import httpx
import pytest

from owner_agent.cli import releasing
from pramana_core.rounding import rounded_up
from pramana_core.wire.releases import Consistency, RepeatedReports

HEAD = "patient_id,smokes,age,region\n"


def test_check_tells_every_problem(bench, command):
    data = json.loads(command("check", "--json").out)
    assert (data["rows"], data["problems"]) == (50, [])
    bench.write(table=HEAD + "1,no,x,north\n1,maybe,30,West\n")
    before = bench.files()
    ended = command("check")
    assert ended.exit_code == 2
    for code in ("record-id-duplicate", "unknown-category", "table-invalid"):
        assert f"error ({code})" in ended.err
    assert "maybe" not in ended.out + ended.err
    assert bench.files() == before
    found = command("check", "--json")
    assert found.exit_code == 2
    assert [p["where"] for p in json.loads(found.out)["problems"]] == [
        "patient_id", "smokes", "age", "region",
    ]  # fmt: skip


@pytest.mark.parametrize("word", ["check", "plan", "publish"])
def test_a_sensitive_variable_without_a_channel_stops_everything(bench, command, site_text, word):
    for channel in ("", "channel = { kind = 'symmetric', p = 0.0 }"):
        bench.write(
            site_text.replace('channel = { kind = "binary", p1 = 0.1, p2 = 0.25 }', channel)
        )
        before = {"publish.lock": b"", **bench.files()}
        ended = command(word)
        assert ended.exit_code == 2
        assert "error (sensitive-without-channel): Variable 'smoker' is sensitive" in ended.err
        assert {"publish.lock": b"", **bench.files()} == before
    assert bench.miner.requests == []


def test_plan_prints_cost_and_accuracy(bench, command):
    assert command("plan", "--no-report").exit_code == 0
    data = json.loads(command("plan", "--json").out)
    smoker, age, region = data["variables"]
    assert data["records"] == 50
    assert smoker["gamma"] == pytest.approx(7.5)
    assert smoker["epsilon"] == pytest.approx(math.log(7.5))
    assert smoker["rho_2"] == pytest.approx(7.5 * 0.05 / (0.95 + 7.5 * 0.05))
    assert age["gamma"] == pytest.approx(6.0)
    assert (region["gamma"], region["epsilon"], region["rho_2"]) == (None, None, 1.0)
    # The largest variance of a binomial share is at one half: 1 / (4 N).
    assert region["standard_error"] == pytest.approx(math.sqrt(0.25 / 50))
    # At truth t the report is 1 with q = t 0.75 + (1 - t) 0.1, and q = 1/2 can be: the error is
    # that of q over 0.65.
    assert smoker["standard_error"] == pytest.approx(math.sqrt(0.25 / 50) / 0.65, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("gamma", "count"), [("60.0", 0), ("60.5", 1), ("360.0", 1), ("362.0", 2)])
def test_warnings_begin_where_a_belief_can_grow_to_near_certainty(
    bench, command, site_text, gamma, count
):
    """From 361 on: of both sensitive variables together, age having 6, and of smoker alone."""
    channel = f'kind = "symmetric", gamma = {gamma}'
    bench.write(site_text.replace('kind = "binary", p1 = 0.1, p2 = 0.25', channel))
    for words in (["check"], ["plan", "--no-report"]):
        assert len(json.loads(command(words[0], "--json").out)["warnings"]) == count
        assert command(*words).out.count("warning:") == count


@pytest.mark.slow
def test_publish_and_ledger(bench, command, monkeypatch):
    words = ("publish", "--yes", "--part-records", "20")
    assert command(*words).exit_code == 0
    (release,) = bench.miner.sealed()
    name = release["manifest"].name
    assert json.loads(command(*words, "--json").out)["already"] is True
    monkeypatch.setenv("COLUMNS", "72")
    shown = command("ledger")
    assert max(len(line) for line in shown.out.splitlines()) <= 72
    # The name, which `withdraw` takes, is never broken.
    for text in (name, "sealed", "2031-05-06", "smokes", "2.015"):
        assert text in shown.out
    data = json.loads(command("ledger", "--json").out)
    assert data["composed_epsilon"]["smokes"] == pytest.approx(math.log(7.5))
    assert data["composed_epsilon"]["region"] is None
    assert data["releases"][0]["records"] == 50
    assert command("withdraw", name).exit_code == 0
    assert json.loads(command("ledger", "--json").out)["releases"][0]["state"] == "withdrawn"


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "leaves"), [("y", True), ("n", False)])
def test_publish_shows_the_report_and_asks(bench, command, monkeypatch, answer, leaves):
    monkeypatch.setattr(releasing, "at_terminal", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{answer}\n"))
    ended = command("publish")
    assert ended.exit_code == 0, ended.err
    assert list(bench.state.rglob("plan.html"))
    assert len(bench.miner.sealed()) == leaves


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--json",), ("--no-report",)])
def test_nothing_leaves_a_script_that_does_not_say_yes(bench, command, words):
    ended = command("publish", *words)
    assert (ended.exit_code, ended.out) == (2, "")
    assert "error (option-invalid)" in ended.err
    assert bench.miner.sealed() == []


def _with_copy(bench, site_text, entry):
    """Add a column that has the values of `smokes` under other labels, at two records others."""
    lines = (bench.folder / "patients.csv").read_text().splitlines()
    labels = {"no": "0", "yes": "1"}
    rows = [f"{line},{labels[line.split(',')[1]]}" for line in lines[1:]]
    copy = f'[[variables]]\nname = "copy"\ncategories = ["0", "1"]\n{entry}\n'
    bench.write(f"{site_text}{copy}", table="\n".join([f"{lines[0]},copy", *rows]) + "\n")


OPEN = "sensitive = false"
HIDDEN = 'sensitive = true\nchannel = { kind = "symmetric", p = 0.4 }'


def test_a_copy_that_leaves_as_it_is_is_refused_before_anything_is_asked(bench, command, site_text):
    _with_copy(bench, site_text, OPEN)
    for words in (["check"], ["plan", "--no-report"], ["publish", "--yes"], ["publish"]):
        ended = command(*words)
        assert (ended.exit_code, "sensitive-without-channel" in ended.err) == (2, True), words
        assert "'copy'" in ended.err
    assert not [f for f in bench.files() if f.endswith(".arrow")]
    site = (bench.folder / "site.toml").read_text()
    bench.write(f'{site}reveals = ["smoker"]\n')
    assert command("check").exit_code == 0
    assert command("publish", "--yes").exit_code == 0


def test_the_losses_of_two_copies_add_before_anything_is_asked(bench, command, site_text):
    _with_copy(bench, site_text, HIDDEN)
    for key in (bench.state / "keys").iterdir():
        key.unlink()
    said = json.loads(command("check", "--json").out)["warnings"]
    assert sum("one secret" in warning for warning in said) == 1
    shown = json.loads(command("plan", "--json").out)
    after = {c["column"]: c["epsilon_after"] for c in shown["ledger"]["columns"]}
    alone = {v["column"]: math.log(v["gamma"]) for v in shown["variables"] if v["sensitive"]}
    both = alone["smokes"] + alone["copy"]
    assert after["smokes"] == after["copy"] == pytest.approx(both)
    assert both > max(alone.values())
    (said,) = (warning for warning in shown["warnings"] if "one secret" in warning)
    assert f"epsilon {rounded_up(both)}." in said


@pytest.mark.parametrize("copied", [True, False])
def test_a_script_that_asks_nobody_hears_of_two_copies(bench, command, site_text, copied):
    if copied:
        _with_copy(bench, site_text, HIDDEN)
    ended = command("publish", "--yes", "--json")
    assert ended.exit_code == 0
    assert ("one secret" in " ".join(ended.err.split())) is copied


def test_publish_to_a_miner_that_is_down(bench, command):
    bench.miner.faults = [("before", httpx.ConnectError("down"))] * 2
    ended = command("publish", "--yes")
    assert ended.exit_code == 5
    assert "error (miner-unreachable)" in ended.err
    assert "`owner-agent publish`" in ended.err
    assert [f for f in bench.files() if f.endswith(".arrow")]


def test_keys_are_made_shown_and_handed_on(bench, command, tmp_path):
    for name in ("draw", "linkage"):
        (bench.state / "keys" / f"{name}.key").unlink()
    assert command("keys", "create").exit_code == 0
    assert command("keys", "create", "--linkage").exit_code == 0
    again = command("keys", "create")
    assert again.exit_code == 3
    assert "error (key-file)" in again.err
    prints = json.loads(command("keys", "show", "--json").out)
    assert len(prints["draw"]) == len(prints["linkage"]) == 16
    target = tmp_path / "linkage-for-you.key"
    assert command("keys", "export", "linkage", str(target)).exit_code == 0
    assert target.stat().st_mode & 0o777 == 0o600
    assert command("keys", "export", "draw", str(tmp_path / "x")).exit_code == 2
    assert not (tmp_path / "x").exists()
    (bench.state / "keys" / "linkage.key").unlink()
    assert command("keys", "import", "linkage", str(target)).exit_code == 0
    assert json.loads(command("keys", "show", "--json").out) == prints
    assert f"draw     {prints['draw']}" in command("keys", "show").out


@pytest.fixture
def join(command, tmp_path):
    """Join with a secret, which is in a file."""

    def join_with(secret):
        file = tmp_path / "invitation"
        file.write_text(secret + "\n")
        return command("join", "--secret-file", str(file))

    return join_with


def test_join_stores_the_token_privately(bench, join):
    token = bench.state / "tokens" / "asia.token"
    token.unlink()
    ended = join(bench.miner.invitation)
    assert ended.exit_code == 0
    assert token.stat().st_mode & 0o777 == 0o600
    assert token.read_text().strip() == bench.miner.issue.token
    assert bench.miner.issue.token not in ended.out + ended.err
    bench.miner.invitation, bench.miner.accepted = "another-secret-0123456789", None
    assert join(bench.miner.invitation).exit_code == 0


def test_join_takes_no_secret_as_an_argument(bench, command):
    """The list of processes and the shell's history would show it."""
    before = bench.files()
    ended = command("join", bench.miner.invitation)
    assert ended.exit_code == 2
    assert bench.miner.invitation not in ended.out + ended.err
    assert bench.files() == before


def test_join_with_a_wrong_secret_or_none(bench, command, join):
    before = bench.files()
    assert "error (option-invalid)" in join("short").err
    assert join("an-invitation-nobody-made").exit_code == 4
    assert bench.files() == before | {"audit.jsonl": b""}
    (bench.state / "tokens" / "asia.token").unlink()
    assert command("join").exit_code == 2


def test_publish_warns_of_what_the_miner_finds_wrong(bench, command):
    same = RepeatedReports(
        variables=["age"], compared=2, records=2000, changed=0, releases=[], anew=False
    )
    bench.miner.repeated = [same]
    assert "the miner finds" not in command("publish", "--yes").err
    bench.miner.repeated.append(
        RepeatedReports(
            variables=["smoker"], compared=2, records=2000, changed=13, releases=["r-1"], anew=True
        )
    )
    bench.miner.consistency = Consistency(
        state="inconsistent",
        p_value=3.2e-7,
        variables=["smoker", "age"],
        tables=3,
        left_out=0,
        reason=None,
    )
    ended = command("publish", "--yes", "--json")
    assert ended.exit_code == 0
    answer, warned = json.loads(ended.out), " ".join(ended.err.split())
    assert answer["consistency"] == bench.miner.consistency.model_dump()
    assert answer["repeated"] == [one.model_dump() for one in bench.miner.repeated]
    for said in ("smoker, age", "3.2e-07", "r-1", "13 of 2,000 in smoker"):
        assert said in warned
