"""A custodian who corrects records and publishes again, and what everybody reads then."""

import pytest

from pramana_core.errors import RecordsCorrected
from tests.owner_agent.release.publishing import drawn_anew, published, reports_of


@pytest.fixture
def corrected(bench, table_text):
    """The bench after a release, with every smoker corrected to a non-smoker since."""
    published(bench)
    bench.write(table=table_text(50).replace(",yes,", ",no,"))
    return bench


def test_the_site_file_may_choose_for_good(corrected, site_text):
    corrected.write('corrections = "keep"\n' + site_text)
    assert published(corrected).stale == 22
    drawn_anew(corrected)
    assert published(corrected).stale == 0


def test_in_a_sampled_block_no_record_changes_its_subset(bench, site_text, table_text):
    """A change of one variable would choose another subset for two records in three."""
    block = (
        '[[blocks]]\nvariables = ["smoker", "age"]\n'
        'channel = { kind = "sampled", size = 1, gamma = 5.0 }\n'
    )
    text = site_text.replace('channel = { kind = "binary", p1 = 0.1, p2 = 0.25 }', "")
    site = text.replace('channel = { kind = "symmetric", p = 0.4 }', "") + block
    bench.write(site)
    published(bench)
    bench.write(site, table_text(50).replace(",yes,", ",no,"))
    with pytest.raises(RecordsCorrected):
        published(bench)
    bench.write(site, table_text(51).replace(",yes,", ",no,"))
    published(bench, corrections="keep")
    old, new = (reports_of(release) for release in bench.miner.sealed())
    assert {key: new[key] for key in old} == old
