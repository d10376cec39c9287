"""`owner-agent mask` and `share-model`: shown before they leave, and nothing leaves unasked."""

from __future__ import annotations

import html
import json
import logging
import re
import stat

import pytest

from owner_agent.release.ledger import Ledger
from owner_agent.release.masked import NO_BOUND
from owner_agent.report.masked import FIRST
from pramana_core.model_sharing.exchange.protection import UNPROTECTED
from tests.owner_agent.release.kinds import KINDS, OLDEST, PRIVATE, REQUIREMENT

pytestmark = pytest.mark.slow
COMMANDS = {"masked": ("mask", "masking"), "tree": ("share-model", "model_sharing")}


@pytest.fixture(params=COMMANDS)
def kind(request, bench):
    """A kind's name, at a bench whose site is one of it."""
    KINDS[request.param].write(bench)
    return request.param


@pytest.fixture
def page(bench, kind):
    """Where the report of a kind goes."""
    return bench.state / "report" / f"{COMMANDS[kind][0]}.html"


def test_the_report_stays_with_its_owner_and_nothing_else_is_written(bench, command, kind, page):
    done = command(COMMANDS[kind][0])
    assert done.exit_code == 0, done.err
    assert not bench.miner.requests
    assert not (bench.state / "outbox").exists()
    assert Ledger(bench.state).entries() == ()
    assert {stat.S_IMODE(path.stat().st_mode) for path in page.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    text = page.read_text()
    assert text.index("This page shows") < text.index("<h2>")
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    assert page.name in done.out
    if kind == "masked":
        # Records are named on the page, and nowhere else.
        assert NO_BOUND in text
        assert len(re.findall(r"C-\d{5}", text)) == FIRST
        numbers = page.with_suffix(".json").read_text()
        assert not re.search(r"C-\d{5}", done.out + done.err + numbers)


def test_json_writes_no_page_and_has_what_the_page_has(bench, command, kind, page):
    told = json.loads(command(COMMANDS[kind][0], "--json").out)
    command(COMMANDS[kind][0], "--no-report")
    assert not page.exists()
    assert (told["records"], told["dropped"]) == (len(KINDS[kind].rows), 0)
    assert (told["ledger"], told["release"]) == (None, None)
    if kind == "masked":
        assert told["method"] == "egadp"
        assert 0 < told["largest_leverage"] < 0.2
        assert {row["group"] for row in told["measures"]} == {"utility", "security"}
    else:
        before, after = told["before"], told["after"]
        assert before["leaves"] > after["leaves"] > 1
        assert before["accuracy_on_own_records"] > after["accuracy_on_own_records"]
        assert after["accuracy_on_own_records"] > told["most_frequent_class"] > 1 / 3
        assert after["smallest_path"] >= 10 > before["smallest_path"]
        assert sum("class" in n for n in told["message"]["tree"]["nodes"]) == after["leaves"]


def test_publishing_reports_first_and_then_sends(bench, command, kind, page):
    name, form = COMMANDS[kind][0], "masked" if kind == "masked" else "shared tree"
    # The study and the linkage secret are asked for before.
    bench.miner.faults = [None, None, ("before", 409)]
    assert command(name, "--publish", "--yes").exit_code == 4
    assert page.exists()
    assert not bench.miner.releases
    done = command(name, "--publish", "--yes", "--json")
    assert done.exit_code == 0, done.err
    release = json.loads(done.out)["release"]
    assert (release["already"], release["records"]) == (False, len(KINDS[kind].rows))
    assert release["name"] in command(name, "--publish", "--yes", "--no-report").out
    assert len(bench.miner.sealed()) == 1
    assert f"no bound ({form})" in " ".join(command("ledger").out.replace("│", " ").split())


def test_check_names_rows_and_no_cell(bench, command, kind):
    told = json.loads(command("check", "--json").out)
    assert told[COMMANDS[kind][1]] == {"records": len(KINDS[kind].rows), "dropped": 0}
    assert set(bench.miner.lines) == {"GET /v1/studies/asia", "POST /v1/studies/asia/linkage"}
    rows = list(KINDS[kind].rows)
    rows[3] = rows[3].rsplit(",", 1)[0] + ",secret-text"
    bench.write(KINDS[kind].site, KINDS[kind].table(rows))
    for words in (("check",), ("check", "--json"), (COMMANDS[kind][0],)):
        done = command(*words)
        assert done.exit_code == 2
        assert "record 4" in done.out + done.err
        assert "secret-text" not in done.out + done.err


def test_no_confidential_number_is_in_what_the_command_prints_or_in_the_json(bench, command):
    KINDS["masked"].write(bench)
    plain, told = command("mask", "--publish", "--yes"), command("mask", "--json")
    numbers = (bench.state / "report" / "mask.json").read_text()
    for text in (text for row in KINDS["masked"].rows for text in row.split(",")[3:]):
        found = re.compile(rf"(?<![\d.]){re.escape(text)}(?!\d)")
        assert not found.search(plain.out + plain.err + told.out + told.err + numbers)


def test_no_extreme_value_and_no_record_id_is_in_anything_that_is_written_or_sent(
    bench, command, caplog
):
    KINDS["tree"].write(bench)
    caplog.set_level(logging.DEBUG)
    shown = [command("share-model", "--publish", "--yes"), command("share-model", "--json")]
    shown += [command("ledger"), command("ledger", "--json"), command("check", "--json")]
    texts = [done.out + done.err for done in shown] + [caplog.text]
    texts += [body.decode("latin-1") for body in bench.files().values()]
    texts += [request.content.decode("latin-1") for request in bench.miner.requests]
    assert any("knowledge-model" in text for text in texts)
    extreme = re.compile(rf"(?<![\d.]){re.escape(OLDEST)}(?!\d)")
    for text in texts:
        assert not extreme.search(text)
        assert "P-00" not in text
    assert extreme.search("\n".join(KINDS["tree"].rows)), "the search finds what is there"


def test_auto_takes_the_recommended_method_and_shows_why(bench, command):
    kind = KINDS["masked"]
    bench.write(kind.site.replace('method = "egadp"', 'method = "auto"'), kind.table())
    told = json.loads(command("mask", "--json").out)
    assert told["method"] == told["recommendation"]["method"] == "egadp"
    assert told["recommendation"]["kind"] == "linear"
    assert told["recommendation"]["evidence"]
    command("mask")
    page = bench.state / "report" / "mask.html"
    again = json.loads(page.with_suffix(".json").read_text())
    assert again == {name: told[name] for name in again}
    assert told["recommendation"]["sentence"] in html.unescape(page.read_text())


def test_a_tree_of_which_nothing_is_required_is_warned_of_and_a_private_one_has_its_epsilon(
    bench, command
):
    kind = KINDS["tree"]
    bench.write(kind.site.replace(REQUIREMENT, 'requirement = "none"'), kind.table())
    done = command("share-model")
    assert UNPROTECTED in done.err
    assert UNPROTECTED in json.loads(command("share-model", "--json").out)["alarms"][0]
    bench.write(PRIVATE)
    assert command("share-model", "--publish", "--yes").exit_code == 0
    assert "ε = 2" in (bench.state / "report" / "share-model.html").read_text()
    told = json.loads(command("ledger", "--json").out)
    assert set(told["composed_epsilon"].values()) == {2}


def test_cautions_name_what_is_left_out_looked_up_and_out_of_range(bench, command):
    kind = KINDS["tree"]
    first, *rows = kind.rows
    undeclared = kind.site.replace("low = 0\nhigh = 100\nwhole = true\n", "")
    bench.write(
        undeclared.replace("[share_model]", '[share_model]\nmissing = "drop"', 1),
        kind.table([first.rsplit(",", 1)[0] + ",", *rows]),
    )
    warnings = json.loads(command("share-model", "--json").out)["warnings"]
    assert any(said.startswith("1 record ") for said in warnings)
    assert any("range of age" in said for said in warnings)
    bench.write(kind.site.replace("high = 100", "high = 80"), kind.table())
    said = " ".join(json.loads(command("share-model", "--json").out)["warnings"])
    assert re.search(r"\d+ values of age lie outside its range of 0 to 80", said)


def test_a_column_that_gives_a_confidential_one_away_is_not_told(bench, command):
    kind = KINDS["masked"]
    pounds = [f"{line},{-3 * float(line.split(',')[3]) + 7:.2f}" for line in kind.rows]
    table = "\n".join([f"{kind.head},pounds", *pounds]) + "\n"
    for entry, code in (
        ('"pounds"', 2),
        ('{ column = "pounds", reveals = ["expenditure"] }', 0),
        ('{ column = "pounds", reveals = ["debt"] }', 2),
    ):
        bench.write(kind.site.replace('tell = ["age",', f'tell = [{entry}, "age",'), table)
        done = command("check")
        assert done.exit_code == code, entry
        assert ("sensitive-without-channel" in done.err) is (code == 2)


def test_columns_that_left_before_in_another_form_are_warned_of(bench, command, kind):
    name = COMMANDS[kind][0]
    assert command(name, "--publish", "--yes", "--no-report").exit_code == 0
    made = KINDS[kind]
    bench.write(made.site, made.table(made.rows[:-1]))
    told = json.loads(command(name, "--json").out)
    columns = told["ledger"]["columns"]
    refused = [one["column"] for one in columns if one["refused_without_accepting"]]
    assert refused
    assert any(all(column in words for column in refused) for words in told["warnings"])
