"""Masking beside the other commands, a study's plan and tables that are wrong."""

import json

from owner_agent.release.masked import protection
from pramana_core.mask import METHODS
from pramana_core.wire.release_kinds import MaskedTableMessage, TableColumn


def test_check_reads_what_would_be_masked(shop, command):
    done = command("check")
    assert done.exit_code == 0, done.err
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
        assert "40 columns" in " ".join(message.protection)


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
