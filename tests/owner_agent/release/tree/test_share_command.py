"""`owner-agent share-model`: shown before it leaves, and nothing that leaves unless asked for."""

import json
import logging
import re
import stat

import pytest

from owner_agent.release.ledger import Ledger
from pramana_core.model_sharing.exchange.protection import NO_BOUND, UNPROTECTED

BETWEEN = re.compile(r"(?<![\d.])97\.125(?!\d)")
"""The greatest age of all, as text."""


def _page(clinic):
    return clinic.state / "report" / "share-model.html"


def test_the_report_stays_with_its_owner_and_nothing_else_is_written(clinic, command):
    done = command("share-model")
    assert done.exit_code == 0, done.err
    assert not clinic.miner.requests
    assert not (clinic.state / "outbox").exists()
    assert Ledger(clinic.state).entries() == ()
    beside = [_page(clinic).with_suffix(end) for end in (".html", ".json", ".message.json")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in beside} == {0o600}
    html = _page(clinic).read_text()
    assert html.index("This page shows true figures of your records") < html.index("<h2>")
    assert NO_BOUND in html
    assert "by subtracting their counts" in html
    assert not re.search(r'(?:src|href)="(?!#|data:)', html)
    assert "k = 10 and (c, l) = (8, 2)" in done.out
    assert "With nothing required" in done.out
    assert f"\n{_page(clinic)}\n" in done.out


@pytest.mark.slow
def test_no_extreme_value_and_no_record_id_is_in_anything_that_is_written_or_sent(
    clinic, command, rows, caplog
):
    caplog.set_level(logging.DEBUG)
    shown = [command("share-model", "--publish", "--yes"), command("share-model", "--json")]
    shown += [command("ledger"), command("ledger", "--json"), command("check", "--json")]
    texts = [done.out + done.err for done in shown] + [caplog.text]
    texts += [body.decode("latin-1") for body in clinic.files().values()]
    texts += [request.content.decode("latin-1") for request in clinic.miner.requests]
    assert any("knowledge-model" in text for text in texts)
    for text in texts:
        assert not BETWEEN.search(text)
        assert "P-00" not in text
    # The search finds what is there.
    assert BETWEEN.search("\n".join(rows))


def test_json_writes_no_page_and_has_what_the_page_has(clinic, command):
    told = json.loads(command("share-model", "--json").out)
    assert not _page(clinic).exists()
    assert (told["records"], told["dropped"], told["target"]) == (300, 0, "diagnosis")
    assert told["before"]["leaves"] > told["after"]["leaves"] > 1
    assert told["before"]["accuracy_on_own_records"] > told["after"]["accuracy_on_own_records"]
    assert told["after"]["accuracy_on_own_records"] > told["most_frequent_class"] > 1 / 3
    assert told["after"]["smallest_path"] >= 10 > told["before"]["smallest_path"]
    assert told["given_up"]["paths_that_did_not_meet_it"] > 0
    assert (told["epsilon"], told["ledger"], told["release"]) == (None, None, None)
    assert sum("class" in n for n in told["message"]["tree"]["nodes"]) == told["after"]["leaves"]
    command("share-model", "--no-report")
    assert not _page(clinic).exists()


def test_publishing_shows_first_and_then_sends(clinic, command):
    clinic.miner.people = "same"
    # The study and the linkage secret are asked for before.
    clinic.miner.faults = [None, None, ("before", 409)]
    refused = command("share-model", "--publish", "--yes")
    assert "Study asia says that its owners hold the same people: " in refused.out
    assert refused.exit_code == 4
    assert _page(clinic).exists()
    assert not clinic.miner.releases
    done = command("share-model", "--publish", "--yes", "--json")
    assert done.exit_code == 0, done.err
    assert "hold the same people" in done.err
    release = json.loads(done.out)["release"]
    assert (release["already"], release["records"]) == (False, 300)
    again = command("share-model", "--publish", "--yes")
    assert f"Release {release['name']} is already sealed; nothing was sent" in again.out
    assert re.search(r"age +no bound \(shared tree\)", again.out)
    shown = " ".join(command("ledger").out.replace("│", " ").split())
    assert "no bound (shared tree)" in shown
    assert "No epsilon bounds what a shared tree tells" in shown
    assert release["name"] in shown


def test_a_tree_of_which_nothing_is_required_is_warned_of_loudly(clinic, command, site_text):
    clinic.write(site_text.replace("{ k = 10, c = 8, l = 2 }", '"none"'))
    done = command("share-model")
    assert done.exit_code == 0, done.err
    assert f"WARNING: {UNPROTECTED}" in done.err
    assert "The smallest path here is of a single record" in done.err
    assert '<p class="alarm">' in _page(clinic).read_text()
    assert UNPROTECTED in json.loads(command("share-model", "--json").out)["alarms"][0]


def test_a_private_tree_is_shown_with_its_epsilon(clinic, command, private_text):
    clinic.write(private_text)
    done = command("share-model", "--publish", "--yes")
    assert done.exit_code == 0, done.err
    assert "differentially private with epsilon 2" in done.out
    html = _page(clinic).read_text()
    assert "ε = 2" in html
    assert "of one record: gamma 7.389" in html
    assert "With nothing required" not in html
    shown = command("ledger")
    assert "no bound" not in shown.out
    told = json.loads(command("ledger", "--json").out)
    assert set(told["composed_epsilon"].values()) == {2}


def test_cautions_name_what_is_left_out_looked_up_and_out_of_range(
    clinic, command, site_text, rows, written
):
    undeclared = site_text.replace("low = 0\nhigh = 100\nwhole = true\n", "")
    empty = [rows[0].rsplit(",", 1)[0] + ",", *rows[1:]]
    clinic.write(
        undeclared.replace("[share_model]", '[share_model]\nmissing = "drop"'), written(empty)
    )
    said = " ".join(json.loads(command("share-model", "--json").out)["warnings"])
    assert "1 record has empty cells and is left out of the tree" in said
    assert "The range of age, 20 to 90," in said
    clinic.write(site_text.replace("high = 100", "high = 80"), written(rows))
    said = " ".join(json.loads(command("share-model", "--json").out)["warnings"])
    assert re.search(r"\d+ values of age lie outside its range of 0 to 80", said)


def test_check_reads_what_a_tree_would_be_learned_from(clinic, command, rows, written, site_text):
    done = command("check")
    assert done.exit_code == 0, done.err
    told = json.loads(command("check", "--json").out)
    assert told["model_sharing"] == {"records": 300, "dropped": 0}
    rows[3] = rows[3].rsplit(",", 1)[0] + ",secret-text"
    clinic.write(site_text, written(rows))
    for words in (("check",), ("check", "--json"), ("share-model",)):
        done = command(*words)
        assert done.exit_code == 2
        assert "'diagnosis'" in done.out + done.err
        assert "row 4" in done.out + done.err
        assert "secret-text" not in done.out + done.err


def test_columns_that_left_before_in_another_tree_are_warned_of(clinic, command, site_text):
    assert command("share-model", "--publish", "--yes").exit_code == 0
    clinic.write(site_text.replace("k = 10", "k = 20"))
    told = json.loads(command("share-model", "--json").out)
    columns = told["ledger"]["columns"]
    refused = [one["column"] for one in columns if one["refused_without_accepting"]]
    assert refused
    assert any(all(name in words for name in refused) for words in told["warnings"])
