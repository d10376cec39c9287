"""Masking beside the other commands, a study's plan and tables that are wrong."""

import json

import pytest

from owner_agent.release.masked import PreparedMask, protection
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import publish
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import StudyPlanNotFollowed
from pramana_core.mask import METHODS
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from pramana_core.wire.release_kinds import MaskedTableMessage, TableColumn


def _plan_of(name):
    """Return a study's plan that randomizes one variable of another owner."""
    part = StudyPart(0, (0,), Symmetric.from_gamma(2, 3.0))
    variable = Variable(name, ("no", "yes"))
    return StudyPlan((("clinic-south", (variable,)),), (StudySet(1 << 30, (part,)),))


def _publish(shop):
    return publish(PreparedMask, shop.site, shop.environment, PublishOptions(50))


def test_a_masked_release_stands_beside_a_plan_that_leaves_its_columns_alone(shop):
    shop.miner.study_plan = _plan_of("ill")
    _publish(shop)
    assert len(shop.miner.sealed()) == 1


@pytest.mark.parametrize("name", ["debt", "age"])
def test_no_column_of_the_studys_plan_leaves_masked_or_told(shop, name):
    shop.miner.study_plan = _plan_of(name)
    with pytest.raises(StudyPlanNotFollowed, match=f"randomizes {name}; this"):
        _publish(shop)
    assert not shop.miner.releases


def test_check_reads_what_would_be_masked(shop, command):
    done = command("check")
    assert done.exit_code == 0, done.err
    assert "120 records: expenditure, debt would be masked (method egadp)" in done.out
    # It asks about the study, and sends nothing.
    assert set(shop.miner.lines) == {"GET /v1/studies/asia", "POST /v1/studies/asia/linkage"}
    told = json.loads(command("check", "--json").out)
    assert told["masking"]["records"] == 120
    assert told["problems"] == []


def test_check_names_rows_and_no_cell(shop, command, rows, written):
    rows[3] = rows[3].rsplit(",", 1)[0] + ",secret-text"
    shop.write(table=written(rows), site=(shop.folder / "site.toml").read_text())
    for words in (("check",), ("check", "--json"), ("mask",)):
        done = command(*words)
        assert done.exit_code == 2
        assert "'debt'" in done.out + done.err
        assert "row 4" in done.out + done.err
        assert "secret-text" not in done.out + done.err
        # No list of categories makes a column of text one that can be masked.
        assert "only numbers can be masked" in " ".join((done.out + done.err).split())
        assert "categories = [...]" not in done.out + done.err


def test_a_column_told_as_numbers_may_be_one_of_categories(shop, command, site_text):
    shop.write(site_text.replace('{ column = "gender", categories = ["f", "m"] }', '"gender"'))
    done = command("mask")
    assert done.exit_code == 2
    assert "'gender' is told as numbers" in done.err
    assert "categories = [...]" in done.err


def test_one_record_cannot_be_masked(shop, command, site_text, rows, written):
    shop.write(site_text, written(rows[:1]))
    done = command("mask")
    assert done.exit_code == 2
    assert "One record cannot be masked" in done.err


@pytest.mark.slow
def test_what_measures_say_is_printed_once(shop, command, site_text):
    shop.write(site_text.replace('"egadp"', '"cadp"'))
    done = command("mask")
    told = json.loads((shop.state / "report" / "mask.json").read_text())
    alarms = [row for row in told["measures"] if row["alarm"]]
    assert len(alarms) > 1
    assert f"{len(alarms)} measures show" in done.out
    assert "warning:" not in done.out
    html = (shop.state / "report" / "mask.html").read_text()
    assert html.count(alarms[0]["sentence"]) == 1


@pytest.mark.parametrize("words", ["plan", "publish"])
def test_commands_for_variables_say_which_one_masks(shop, command, words):
    done = command(words)
    assert done.exit_code != 0
    assert "owner-agent mask --publish" in done.err


def test_long_lists_of_told_columns_can_be_sent():
    names = [f"laboratory value number {i}" for i in range(1, 41)]
    for method in METHODS.values():
        said = protection(method, names, 2)
        message = MaskedTableMessage(
            columns=[TableColumn(name="x", role="masked", type="numeric")],
            method=method.name,
            copies=2,
            protection=list(said),
        )
        assert "the 40 columns told" in " ".join(message.protection)


def test_a_column_that_gives_a_confidential_one_away_is_not_told(shop, command, site_text, rows):
    pounds = [f"{line},{-3 * float(line.split(',')[3]) + 7:.2f}" for line in rows]
    table = "\n".join(["patient_id,age,gender,expenditure,debt,pounds", *pounds]) + "\n"
    for entry, code in (
        ('"pounds"', 2),
        ('{ column = "pounds", reveals = ["expenditure"] }', 0),
        ('{ column = "pounds", reveals = ["debt"] }', 2),
    ):
        shop.write(site_text.replace('tell = ["age",', f'tell = [{entry}, "age",'), table)
        done = command("check")
        assert done.exit_code == code, entry
        assert ("sensitive-without-channel" in done.err) is (code == 2)
