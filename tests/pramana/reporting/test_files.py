"""Files of reports: all of them, nothing that is true, and nothing that was changed."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana.owner.accounting import accountant
from pramana.reporting.reports import Reports
from pramana.reporting.sources import join
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import StoreCorrupt, TableError
from tests.pramana.reporting.plans import PLANS, plan_of, reports_of

OTHER = plan_of(Symmetric.from_gamma(2, 3.0), Variable("d", ("x", "y")))


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_reports_are_loaded_as_they_were_saved(tmp_path, plan):
    reports = reports_of(plan, study="asia")
    reports.save(tmp_path / "reports.parquet")
    loaded = Reports.load(str(tmp_path / "reports.parquet"))
    assert loaded.digest == reports.digest
    assert loaded.plan == plan
    assert loaded.draws == reports.draws
    assert loaded.study == "asia"
    assert accountant(loaded, reports).epsilon == accountant(reports).epsilon
    assert len(join(loaded, reports_of(OTHER, study="asia"))) == len(reports)


def test_the_file_has_reported_codes_and_pseudonyms_and_no_other_column(tmp_path):
    reports = reports_of(PLANS["mixture"])
    reports.save(tmp_path / "r")
    table = pq.read_table(tmp_path / "r")
    assert table.column_names == ["__key__", "a", "b", "c"]
    for name in ("a", "b", "c"):
        assert table.column(name).to_pylist() == reports.codes[name].tolist()
    described = json.loads(table.schema.metadata[b"pramana-reports"])
    assert set(described) == {
        *("version", "kind", "digest", "study", "plan", "draws", "joined", "seal")
    }
    assert list(tmp_path.iterdir()) == [tmp_path / "r"]


def changed(path, **of):
    table = pq.read_table(path)
    described = json.loads(table.schema.metadata[b"pramana-reports"]) | of
    metadata = {b"pramana-reports": json.dumps(described).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)


def test_a_file_that_was_changed_is_refused(tmp_path):
    path = tmp_path / "r"
    reports_of(PLANS["symmetric"]).save(path)
    table = pq.read_table(path)
    codes = table.column("b").to_numpy().copy()
    codes[0] = (codes[0] + 1) % 3
    pq.write_table(table.set_column(1, table.schema.field(1), pa.array(codes)), path)
    with pytest.raises(StoreCorrupt):
        Reports.load(path)
    pq.write_table(table.drop_columns(["b"]), path)
    with pytest.raises(StoreCorrupt):
        Reports.load(path)
    pq.write_table(table.slice(1), path)
    with pytest.raises(StoreCorrupt):
        Reports.load(path)


def test_draws_and_study_are_those_that_were_saved(tmp_path):
    path = tmp_path / "r"
    reports_of(PLANS["symmetric"], study="asia").save(path)
    described = json.loads(pq.read_table(path).schema.metadata[b"pramana-reports"])
    for other in (
        {"draws": []},
        {"draws": None},
        {"draws": described["draws"][1:]},
        {"study": "b"},
    ):
        reports_of(PLANS["symmetric"], study="asia").save(path)
        changed(path, **other)
        with pytest.raises(StoreCorrupt):
            Reports.load(path)


def test_a_later_version_says_so(tmp_path):
    reports_of(PLANS["symmetric"]).save(tmp_path / "r")
    changed(tmp_path / "r", version=2, further="things")
    with pytest.raises(TableError):
        Reports.load(tmp_path / "r")


def test_other_files_are_no_reports(tmp_path):
    reports_of(PLANS["symmetric"]).to_frame().to_parquet(tmp_path / "frame.parquet")
    (tmp_path / "text").write_text("hello")
    reports_of(PLANS["symmetric"]).save(tmp_path / "odd")
    changed(tmp_path / "odd", kind="model")
    for name in ("frame.parquet", "text", "odd"):
        with pytest.raises(TableError):
            Reports.load(tmp_path / name)
    with pytest.raises(TableError):
        Reports.load(tmp_path / "nowhere")
