"""The writer of CSV: what it writes is read back as it was, and no spreadsheet runs it."""

import csv
import io
import re
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from owner_agent.site.table_source import TableSource
from owner_agent.table.table import column_names, read_table
from pramana.simulate.tables import read_cells
from pramana_core.csv_text import csv_cell, csv_text, unmarked
from tests.places import ROOT

SIGNS = st.sampled_from([*"=+-@'\",;\t\r\n ", "-1.5", "+1", "1e5", "a", "é", "=cmd|' /C calc'!A0"])
TEXTS = st.lists(SIGNS, min_size=1, max_size=6).map("".join)
AWKWARD = [
    "=1+1", "@SUM(A1)", "+1 555 0100", "-", "- none", "-1.5", "+2", "-1e-7", "'=x", "''@", "'q'",
    "two\nlines", "old\rmac", "windows\r\nlines", 'a "word"', "a, b", "x;=y", "O'Hara", "-inf",
]  # fmt: skip


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1))
@example([(text, text) for text in AWKWARD])
def test_any_text_is_read_back(rows):
    assert [list(map(unmarked, row)) for row in read(csv_text(["a", "b"], rows))[1:]] == [
        list(row) for row in rows
    ]


@given(TEXTS)
def test_no_text_is_run_but_numbers_stay_numbers(text):
    (cell,) = read(csv_text([text], []))[0]
    if re.fullmatch(r"[+-]?\d+(\.\d+)?(e\d+)?", text):
        assert cell == text
    else:
        assert cell[0] not in "=+-@\t\r\n"


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (-1.5, "-1.5"), (0.1, "0.1"), (1e-300, "1e-300"), (-3, "-3"), (np.float64(-0.1), "-0.1"),
        (np.int64(-7), "-7"), (True, "True"), (None, ""), (float("nan"), ""), ("", ""),
        ("-1.5", "-1.5"),
    ],
)  # fmt: skip
def test_values_are_written_plainly(value, cell):
    assert csv_cell(value) == cell


def test_every_digit_of_a_number_is_written():
    values = np.random.default_rng(1).normal(size=200) * 10.0 ** np.arange(-100, 100)
    text = csv_text(["x"], ([value] for value in values))
    assert [float(cell) for (cell,) in read(text)[1:]] == values.tolist()


def test_an_empty_cell_alone_is_a_row():
    assert len(read(csv_text(["x"], [["a"], [""], [None], ["b"]]))) == 5


def cleaned(text: str) -> str:
    """What readers make of any cell: no blanks around it, in NFC."""
    return unicodedata.normalize("NFC", text.strip())


@settings(max_examples=40)
@given(
    st.lists(
        # A file of a few such cells may be one of other separators, or of decimal commas.
        TEXTS.map(cleaned).filter(
            lambda text: text and not (set(text) & set(";\t|") or re.fullmatch(r".*,\d+", text))
        ),
        min_size=2,
        max_size=8,
        unique=True,
    )
)
@example([text.strip() for text in AWKWARD])
def test_the_products_own_readers_read_it_back(tmp_path_factory, texts):
    path = Path(tmp_path_factory.mktemp("table")) / "table.csv"
    written = csv_text(texts, [texts, texts[::-1]])
    path.write_bytes(written.encode())
    table = read_table(TableSource(path), texts)
    assert column_names(TableSource(path)) == texts
    for place, name in enumerate(texts):
        assert [cleaned(t) for t in table.columns[name].to_pylist()] == [
            texts[place], texts[-1 - place],
        ]  # fmt: skip
    frame = read_cells(path)
    assert list(frame.columns) == texts
    assert frame.iloc[0].tolist() == texts


def test_nothing_else_writes_csv():
    """Whoever writes CSV by another way is not protected; benchmarks make tables for themselves."""
    ways = re.compile(r"csv\.(writer|DictWriter)|\.to_csv\(|\.write_csv\(")
    found = {
        str(path.relative_to(ROOT))
        for package in ("shared", "owner_agent", "miner_service", "pramana")
        for path in (ROOT / package).rglob("*.py")
        if any(
            ways.search(line) and ">>>" not in line
            for line in path.read_text(encoding="utf-8").splitlines()
        )
    }
    assert not found
