"""Reading what is masked: categories of the file alone; what is wrong is told without a value."""

import numpy as np
import pytest

from owner_agent.release.masked import read_columns
from pramana_core.errors import EmptyTable, TableError, UnknownCategory
from tests.owner_agent.release.kinds import KINDS, MASK

rows = KINDS["masked"].rows
site_text = MASK
written = KINDS["masked"].table


def test_columns_are_read_as_the_site_file_says(shop):
    read = read_columns(shop.site)
    assert read.unchanged.names == ("age", "gender")
    assert read.unchanged["gender"].categories == ("f", "m")
    assert read.confidential.names == ("expenditure", "debt")
    assert read.dropped == 0
    first = rows[0].split(",")
    assert read.record_ids[0] == first[0]
    assert read.unchanged["age"].values[0] == float(first[1])
    assert "fm"[read.unchanged["gender"].codes[0]] == first[2]
    assert read.confidential.matrix()[0].tolist() == [float(first[3]), float(first[4])]
    turned = read.in_order(np.arange(len(rows))[::-1])
    assert turned.record_ids == read.record_ids[::-1]
    assert turned.unchanged["age"].values.tolist() == read.unchanged["age"].values.tolist()[::-1]


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [
        (3, "", TableError),
        (1, "", TableError),
        (2, "", TableError),
        (3, "SECRET", TableError),
        (4, "inf", TableError),
        (3, "1e200", TableError),
        (2, "SECRET", UnknownCategory),
        (0, "", TableError),
        (0, "C-00000", TableError),
    ],
)
def test_what_is_wrong_is_said_without_a_value(shop, place, value, error):
    cells = rows[1].split(",")
    cells[place] = value
    shop.write(site_text, written([rows[0], ",".join(cells), *rows[2:]]))
    with pytest.raises(error) as raised:
        read_columns(shop.site)
    assert "SECRET" not in f"{raised.value.message} {raised.value.remedy}"
    assert cells[4] not in raised.value.message


def test_records_with_empty_cells_are_dropped_where_the_file_says_so(shop):
    one, two = (row.split(",") for row in rows[:2])
    holes = [",".join([*one[:3], "", one[4]]), ",".join([two[0], two[1], "", *two[3:]])]
    table = written([*holes, *rows[2:]])
    shop.write(site_text + 'missing = "drop"\n', table)
    read = read_columns(shop.site)
    assert (read.dropped, len(read.record_ids)) == (2, 118)
    kept = site_text.replace('["f", "m"]', '["f", "m", "?"], missing = "?"')
    shop.write(kept + 'missing = "drop"\n')
    read = read_columns(shop.site)
    assert read.dropped == 1
    assert read.unchanged["gender"].codes[0] == 2
    shop.write(
        table=written([",".join([r.split(",")[0], "", "", "", ""]) for r in rows]),
        site=kept + 'missing = "drop"\n',
    )
    with pytest.raises(EmptyTable):
        read_columns(shop.site)
