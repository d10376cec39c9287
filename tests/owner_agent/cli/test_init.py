"""`owner-agent init`: what it proposes of a table, what it asks, and what it never tells."""

import io
import itertools
import json
import re
import stat
from datetime import UTC, datetime

import pytest

from owner_agent.cli import init as module
from owner_agent.site.public_part import read_part
from owner_agent.site.site import load_site
from pramana_core.wire.privacy import InvitationFile
from tests.owner_agent.table.workbooks import write_workbook

NAMES = ["usual", "pretentious", "great_pret"]
LATER = datetime(2100, 1, 1, tzinfo=UTC)
SECRETS = ("SECRET-DIAGNOSIS", "remark of person", "CHILD-0")


def children(rows=60, *, rare=False):
    """Return a table of ids, texts, numbers with empty cells, and remarks that nobody else has."""
    lines = ["child,parents,age,income,diagnosis,remark"]
    for i in range(rows):
        diagnosis = "SECRET-DIAGNOSIS" if rare and i == 7 else ("well", "ill")[i % 2]
        age = "" if i % 9 == 0 else 18 + i
        lines.append(
            f"CHILD-{i:04d},{NAMES[i % 3]},{age},{i // 3 % 4 + 1},{diagnosis},remark of person {i}"
        )
    return "\n".join(lines) + "\n"


@pytest.fixture
def fresh(bench):
    """A folder with a table and no site file."""
    (bench.folder / "site.toml").unlink()
    bench.write_table = (bench.folder / "children.csv").write_text
    bench.write_table(children())
    bench.table = str(bench.folder / "children.csv")
    return bench


@pytest.fixture
def init(fresh, command):
    """Call `init` on the table."""
    return lambda *words: command("init", fresh.table, *words)


@pytest.fixture
def answers(monkeypatch):
    """Sit at a terminal and answer."""

    def sit(*lines):
        monkeypatch.setattr(module, "at_terminal", lambda: True)
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return sit


def test_what_init_writes_is_accepted_by_check_at_once(fresh, init, command):
    ended = init("--owner", "family", "--yes")
    assert ended.exit_code == 0, ended.err
    path = fresh.folder / "site.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    file = load_site(path).file
    assert (file.owner, file.table, file.record_id) == ("family", "children.csv", "child")
    parents, age, income, diagnosis = file.variables
    assert parents.categories == tuple(sorted(NAMES))
    assert (age.missing, all(cut == int(cut) for cut in age.cuts)) == ("?", True)
    assert income.categories == ("1", "2", "3", "4")
    assert diagnosis.categories == ("ill", "well")
    assert all(v.sensitive and v.channel is None for v in file.variables)
    assert "# * 'remark': it has too many different texts" in path.read_text()
    checked = command("check")
    assert checked.exit_code == 0, checked.err
    assert "60 rows, 4 variables (4 sensitive), 0 problems." in checked.out
    assert json.loads(command("check", "--json").out)["awaiting_plan"] == [
        "parents", "age", "income", "diagnosis",
    ]  # fmt: skip


@pytest.mark.parametrize("word", ["plan", "publish"])
def test_a_site_before_the_studys_plan_is_told_what_comes_next(fresh, init, command, word):
    init("--owner", "family", "--yes")
    ended = command(word)
    assert ended.exit_code == 2
    assert "owner-agent join" in ended.err
    assert "sensitive = false" not in ended.err
    assert fresh.miner.sealed() == []


def test_nobody_confirmed_and_nothing_is_written(fresh, init):
    ended = init("--owner", "family")
    assert ended.exit_code == 2
    assert "not confirmed for 'parents', 'age', 'income', 'diagnosis'" in ended.err
    assert not (fresh.folder / "site.toml").exists()


def test_init_never_overwrites(fresh, init):
    (fresh.folder / "site.toml").write_text("mine")
    ended = init("--owner", "family", "--yes")
    assert ended.exit_code == 2
    assert (fresh.folder / "site.toml").read_text() == "mine"


def test_the_public_part_has_the_lists_of_the_site_file(fresh, init):
    said = init("--owner", "family", "--yes", "--not-sensitive", "income").out
    part = read_part(fresh.folder / "family.public.toml")
    assert "family.public.toml, the public part: only names and categories." in said
    assert part.owner == "family"
    assert [v.name for v in part.variables] == ["parents", "age", "diagnosis"]
    assert part.variables[0].categories == tuple(sorted(NAMES))
    assert part.variables[1].categories[-1] == "?"


def test_public_lists_in_place_of_the_tables(fresh, init):
    ended = init(
        "--owner", "family", "--categories", "parents=usual,pretentious,great_pret",
        "--cuts", "age=30,60", "--categories", "income=1,2,3,4,5",
        "--categories", "diagnosis=well,ill", "--not-sensitive", "income",
    )  # fmt: skip
    assert ended.exit_code == 0, ended.err
    parents, age, income, diagnosis = load_site(fresh.folder / "site.toml").file.variables
    assert parents.categories == tuple(NAMES)
    assert age.cuts == (30, 60)
    assert (income.categories, income.sensitive) == (("1", "2", "3", "4", "5"), False)
    assert diagnosis.categories == ("well", "ill")


def test_a_rare_category_is_not_taken_by_yes(fresh, init):
    fresh.write_table(children(rare=True))
    ended = init("--owner", "family", "--yes")
    assert ended.exit_code == 2
    assert "Some categories of 'diagnosis' (1) have fewer than 5 records" in ended.err
    assert not (fresh.folder / "site.toml").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--yes",),
        (),
        ("--yes", "--categories", "diagnosis=well,ill"),
        ("--yes", "--categories", "diagnosis=well,ill,SECRET-DIAGNOSIS"),
        ("--yes", "--record-id", "parents"),
        ("--yes", "--cuts", "diagnosis=1,2"),
        ("--yes", "--leave-out", "diagnosis"),
        ("--yes", "--categories", "diagnosi=well"),
    ],
)
def test_no_value_reaches_what_a_script_keeps(fresh, init, words):
    """Neither what is printed nor errors, and no file but the site file and its public part."""
    fresh.write_table(children(rare=True))
    before = set(fresh.folder.rglob("*"))
    ended = init("--owner", "family", *words)
    for secret in (*SECRETS, *NAMES, "well"):
        assert secret not in ended.out + ended.err
    made = set(fresh.folder.rglob("*")) - before
    part = fresh.folder / "family.public.toml"
    assert made == ({fresh.folder / "site.toml", part} if ended.exit_code == 0 else set())
    if made:
        # It has the lists that were confirmed, and neither ids nor remarks.
        text = part.read_text()
        confirmed = {category for v in read_part(part).variables for category in v.categories}
        assert not [secret for secret in SECRETS if secret in text and secret not in confirmed]


def test_at_a_terminal_each_list_is_confirmed_or_replaced(fresh, init, answers):
    fresh.write_table(children(rare=True))
    answers("family", "y", "l", "30,45", "n", "?", "y", "parent", "parents")
    ended = init()
    assert ended.exit_code == 0, ended.err
    assert "fewer than 5 records: SECRET-DIAGNOSIS." in ended.out
    assert "(did you mean 'parents'?)" in ended.out
    file = load_site(fresh.folder / "site.toml").file
    assert file.owner == "family"
    parents, age, diagnosis = file.variables
    assert (parents.sensitive, age.sensitive, age.cuts) == (False, True, (30, 45))
    assert "SECRET-DIAGNOSIS" in diagnosis.categories


def test_a_wrong_answer_is_asked_again_and_earlier_answers_are_kept(fresh, init, answers):
    # Lists that no site file may have, then one that the table does not fit, then a good one.
    lists = ("usual", "usual,,other", "usual,other", ",".join(NAMES))
    typed = [word for listed in lists for word in ("l", listed)]
    # Parents and twice have the same values: sent unchanged, one reveals the other.
    table = children().replace("parents,", "parents,twice,")
    fresh.write_table(re.sub("(usual|great_pret|pretentious)", r"\1,\1x", table))
    answers("family", *typed, "y", "l", "45,30", "l", "30,45", "y", "y", "twice", "none")
    ended = init()
    assert ended.exit_code == 0, ended.err
    assert "--categories of `init`" in ended.out
    assert "'twice' is sent unchanged and reveals 'parents'" in ended.out
    parents, twice, age, *_ = load_site(fresh.folder / "site.toml").file.variables
    assert (parents.categories, age.cuts) == (tuple(NAMES), (30, 45))
    assert twice.sensitive


def test_numbers_with_two_words_for_missing_are_omitted_for_that_reason(fresh, command):
    rows = [f"P{i:03d},{('n/a', '-')[i % 2] if i < 9 else i / 4},{'ny'[i % 2]}" for i in range(280)]
    ended, found = _proposed(fresh, command, "pid,weight,ill", rows)
    assert "weight" not in found
    assert "'weight', its cells are numbers and 'n/a', '-': keep one" in ended.out


def test_a_mistake_in_an_option_is_not_blamed_on_the_site_file(fresh, init):
    for words, where in (
        (("--cuts", "age=45,30"), "--cuts"),
        (("--cuts", "age="), "--cuts"),
        (("--categories", "parents=usual,"), "--categories"),
        (("--owner", "a b"), "--owner"),
    ):
        ended = init("--yes", *(() if "--owner" in words else ("--owner", "family")), *words)
        assert ended.exit_code == 2
        assert "error (option-invalid)" in ended.err
        assert f"option: {where}" in ended.err
        assert "site file" not in ended.err


def test_with_an_invitation_the_last_line_is_the_command_to_join(fresh, init):
    invited = InvitationFile(
        miner="https://m.example", study="s", owner="family", secret="s" * 20, expires=LATER
    )
    file = fresh.folder / "s.invitation"
    file.write_text(invited.model_dump_json())
    assert f"`owner-agent join {file} --site" in init("--yes", "--invitation", str(file)).out


@pytest.mark.parametrize(
    "words",
    [
        ("--record-id", "chld"),
        ("--categories", "parents"),
        ("--categories", "child=a,b"),
        ("--cuts", "age=old"),
        ("--invitation", "absent.json"),
    ],
)
def test_wrong_options_are_refused(fresh, init, words):
    assert init("--owner", "family", "--yes", *words).exit_code == 2
    assert not (fresh.folder / "site.toml").exists()


def test_a_table_without_ids_and_one_that_is_not_there(fresh, command):
    fresh.write_table("a,b\n1,x\n1,x\n")
    for table in (fresh.table, str(fresh.folder / "absent.csv")):
        assert command("init", table, "--owner", "f", "--yes").exit_code == 2


def _proposed(fresh, command, head, rows, *words):
    """Call `init` on another table; return how it ended and its variables by name."""
    table = fresh.folder / "other.csv"
    table.write_text("\n".join([head, *rows]) + "\n")
    ended = command("init", str(table), "--owner", "family", "--yes", *words)
    if ended.exit_code:
        return ended, {}
    return ended, {v.name: v for v in load_site(fresh.folder / "site.toml").file.variables}


RECORDS = [
    f"K{i:04d},{'fm'[i % 2]},{50 + i % 40}.{i % 7},{('renal', 'none')[i % 3 > 0]}"
    for i in range(90)
]


@pytest.mark.parametrize("first", [RECORDS[0], "K9000,m,61.5,none", "P0001,f,70.0,renal"])
def test_a_first_row_that_is_a_record_becomes_no_names(fresh, command, first):
    ended, _ = _proposed(fresh, command, first, RECORDS[1:])
    assert ended.exit_code == 2
    assert "error (table-invalid)" in ended.err
    assert "--header" in ended.err
    assert not [
        cell for cell in first.split(",") if len(cell) > 1 and cell in ended.out + ended.err
    ]
    assert not list(fresh.folder.glob("*.public.toml"))
    assert not (fresh.folder / "site.toml").exists()
    assert _proposed(fresh, command, "id,sex,weight,ill", RECORDS)[0].exit_code == 0


def test_names_that_look_like_values_are_taken_where_somebody_says_so(fresh, command):
    rows = [f"{i},{i % 5},{i % 4}" for i in range(60)]
    assert _proposed(fresh, command, "id,2019,2020", rows)[0].exit_code == 2
    ended, found = _proposed(fresh, command, "id,2019,2020", rows, "--header")
    assert (ended.exit_code, list(found)) == (0, ["2019", "2020"])


CODES = {
    "place": [f"{n:05d}" for n in range(1, 95_000, 6_400)],
    "gene": [f"{n}E{n}" for n in range(1, 15)],
    "telephone": [str(n) for n in range(30_000, 44_000, 1_000)],
    "seen": [f"20{n:02d}0131" for n in range(1, 15)],
    "account": [str(1_000_000 + 77_777 * n) for n in range(14)],
    "year": [str(2005 + n) for n in range(14)],
    "children": [str(n) for n in range(10)],
}  # fmt: skip


@pytest.mark.parametrize("name", CODES)
def test_codes_of_digits_years_and_counts_are_categories(fresh, command, name):
    values = CODES[name]
    rows = [f"P{i:03d},{values[i % len(values)]},{'ny'[i % 5 > 1]}" for i in range(280)]
    ended, found = _proposed(fresh, command, f"pid,{name},ill", rows)
    assert ended.exit_code == 0, ended.err
    assert set(found[name].categories) == set(values)


def test_numbers_of_many_values_are_cut_and_no_cell_of_one_is_written_as_two(fresh, command):
    rows = [f"P{i:03d},{(i % 20) ** 2 // 20},{(i * 37) % 300 + 900}" for i in range(400)]
    ended, found = _proposed(fresh, command, "pid,visits,income", rows)
    assert ended.exit_code == 0, ended.err
    visits, income = found["visits"].cuts, found["income"].cuts
    assert len(visits) > 1
    assert len(income) > 1
    ones = [b - a == 1 for a, b in itertools.pairwise(visits)]
    assert not any(ones) or all(cut % 1 == 0.5 for cut in visits)


def test_numbers_that_count_the_records_and_columns_without_a_name_stay_at_home(fresh, command):
    rows = [f"{'ab'[i % 2]},{i},x{i}" for i in range(40)]
    ended, found = _proposed(fresh, command, "kind,row,", rows)
    assert ended.exit_code == 0, ended.err
    assert list(found) == ["kind"]
    (fresh.folder / "site.toml").unlink()
    nameless, _ = _proposed(fresh, command, ",kind", [f"x{i},{'ab'[i % 2]}" for i in range(40)])
    assert nameless.exit_code == 2
    assert "--record-id 'column 1'" in nameless.err
    (fresh.folder / "family.public.toml").unlink()
    ended = command("init", str(fresh.folder / "other.csv"), "--owner", "family", "--yes",
                    "--record-id", "column 1")  # fmt: skip
    assert ended.exit_code == 0, ended.err
    assert load_site(fresh.folder / "site.toml").file.record_id == "column 1"


@pytest.mark.parametrize("comma", [".", ","])
def test_a_column_of_numbers_with_a_few_other_cells_names_their_rows(fresh, command, comma):
    rows = [f"p{i};{'ab'[i % 2]};{50 + i / 7:.3f}".replace(".", comma) for i in range(300)]
    rows[17], rows[250] = "p17;a;unknown", "p250;b;see file"
    ended, found = _proposed(fresh, command, "id;kind;weight", rows)
    assert list(found) == ["kind"]
    assert "2 records (records 18, 251)" in ended.out
    assert "unknown" not in ended.out + (fresh.folder / "site.toml").read_text()
    for name in ("site.toml", "family.public.toml"):
        (fresh.folder / name).unlink()
    ended, _ = _proposed(fresh, command, "id;kind;weight", rows, "--cuts", "weight=60,80")
    assert ended.exit_code == 2
    assert "2 records (records 18, 251)" in ended.err
    rows[17], rows[250] = (f"p{i};a;60.5".replace(".", comma) for i in (17, 250))
    ended, found = _proposed(fresh, command, "id;kind;weight", rows)
    assert found["weight"].cuts


WARD = [
    ["Fallnr", "Geschlecht", "PLZ", "Jahrgang", "BMI", "Station", "Geburtsdatum", "Rückfall"],
    *(
        [
            str(1001 + i), "MF"[i % 2], ("01067", "10115", "04109")[i % 3], str(1950 + i % 40),
            f"{18 + i % 17},{i % 7}", ("Groß", "Müller")[i % 5 > 1],
            f"{1 + i % 28:02d}.{1 + i % 12:02d}.{1940 + i % 60}", ("ja", "nein")[i % 4 > 0],
        ]
        for i in range(120)
    ),
]  # fmt: skip


def _lines(separator=";", end="\n", *, quoted=False):
    cell = '"{}"'.format if quoted else str
    return end.join(separator.join(map(cell, row)) for row in WARD) + end


EXPORTS = {
    "excel.csv": _lines(end="\r\n").encode("cp1252"),
    "marked.csv": _lines().encode("utf-8-sig"),
    "tabs.TXT": _lines("\t").encode("utf-16"),
    "unmarked.csv": _lines("\t").encode("utf-16-le"),
    "declared.csv": ("sep=|\n" + _lines("|")).encode(),
    "blanks.csv": _lines(", ", quoted=True).encode(),
    "index.csv": "".join(
        f"{i - 1 if i else ''};{line}" for i, line in enumerate(_lines().splitlines(True))
    ).encode(),
    "trailing.csv": _lines().replace("\n", ";;\n").encode(),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_as_it_is_becomes_a_site_file_by_which_it_is_read_again(fresh, command, name):
    table = fresh.folder / name
    table.write_bytes(EXPORTS[name])
    ended = command("init", str(table), "--owner", "family", "--yes")
    assert ended.exit_code == 0, ended.err
    file = load_site(fresh.folder / "site.toml").file
    found = {v.name: v for v in file.variables}
    assert (file.record_id, set(found)) == ("Fallnr", set(WARD[0]) - {"Fallnr"})
    assert found["PLZ"].categories == ("01067", "04109", "10115")
    assert found["Station"].categories == ("Groß", "Müller")
    assert all(18 < cut < 36 for cut in found["BMI"].cuts)
    assert file.dates_as_years == ("Geburtsdatum",)
    assert all(1940 < cut < 2000 for cut in found["Geburtsdatum"].cuts)
    assert "'PLZ' contains codes" in ended.out
    assert "'Geburtsdatum' contains dates" in ended.out
    checked = command("check")
    assert checked.exit_code == 0, checked.err
    assert "120 rows, 7 variables (7 sensitive), 0 problems." in checked.out


def test_a_repeated_id_is_named_by_its_rows_and_not_by_its_value(fresh, command):
    table = fresh.folder / "twice.csv"
    table.write_text(_lines() + ";".join(WARD[8]) + "\n")
    ended = command("init", str(table), "--owner", "family", "--yes")
    assert (ended.exit_code, "(record-id-duplicate)" in ended.err) == (2, True)
    assert "'Fallnr'" in ended.err
    assert "records 8, 121" in ended.err
    assert "Record 1 is line 2 of the file." in ended.err
    assert WARD[8][0] not in ended.out + ended.err
    assert not (fresh.folder / "site.toml").exists()


def test_an_encoding_that_was_guessed_wrong_is_named(fresh, command):
    table = fresh.folder / "ward.csv"
    table.write_bytes(_lines().replace("Müller", "Wałęsa").encode("cp1250", errors="replace"))
    for words, labels in (((), 1), (("--encoding", "cp1250"), 0)):
        (fresh.folder / "site.toml").unlink(missing_ok=True)
        (fresh.folder / "family.public.toml").unlink(missing_ok=True)
        ended = command("init", str(table), "--owner", "family", "--yes", *words)
        assert ended.exit_code == 0, ended.err
        file = load_site(fresh.folder / "site.toml").file
        station = next(v for v in file.variables if v.name == "Station")
        assert ("Wałęsa" not in station.categories) == labels
        assert ("--encoding" in ended.out, file.encoding[:4]) == (True, "cp12")
    assert command("init", str(table), "--encoding", "none").exit_code == 2


def test_a_workbook_becomes_a_site_file(fresh, command):
    pytest.importorskip("python_calamine")
    table = fresh.folder / "ward.xlsx"
    rows = [[int(row[0]), *row[1:4], float(row[4].replace(",", ".")), *row[5:]] for row in WARD[1:]]
    write_workbook(table, [WARD[0], *rows])
    ended = command("init", str(table), "--owner", "family", "--yes")
    assert ended.exit_code == 0, ended.err
    file = load_site(fresh.folder / "site.toml").file
    assert (file.record_id, len(file.variables)) == ("Fallnr", 7)
    assert "0 problems" in command("check").out
