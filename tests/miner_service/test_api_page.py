"""docs/api.md and docs/single-records.md are true: examples run, tables and limits are right."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import fields

import pytest

from docs import job_options
from miner_service.kinds import classifiers, itemsets, tables
from miner_service.settings import MEBIBYTE, Limits
from pramana_core.estimation.evidence import TEST_CELLS
from pramana_core.learn.learners import read_predictor
from pramana_core.wire.services import known_problems
from tests.places import ROOT
from tests.shells import run_script

PAGE, SINGLE_RECORDS = ROOT / "docs" / "api.md", ROOT / "docs" / "single-records.md"


def blocks(language, page=PAGE):
    """Return a page's blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_page_names_every_route(miner):
    text = PAGE.read_text()
    for path, methods in miner.nobody.get("/openapi.json")["paths"].items():
        plain = re.sub(r"\{(release|job|model|token|invitation)\}", "{id}", path).replace(
            "{number}", "{n}"
        )
        for method in methods:
            told = f"{method.upper()} {plain}" in text or f"$MINER{plain}" in text
            assert told, f"{method} {plain}"


def test_the_page_gives_codes_their_status():
    rows = re.findall(r"^\| (\d{3}) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) == 14
    for status, codes in rows:
        for code in re.findall(r"(?<!`)`([a-z-]+)`(?!`)", codes):
            assert known_problems()[code][0] == int(status), code


def test_the_page_gives_the_limits():
    text, limits = " ".join(PAGE.read_text().split()), Limits()
    sizes = {"json_bytes", "part_bytes", "release_bytes", "job_bytes"}
    for name in {field.name for field in fields(limits)} - sizes:
        assert f"{getattr(limits, name):,}" in text, name
    assert f"{TEST_CELLS:,}" in text
    for name, unit in (
        ("json_bytes", 2**20),
        ("part_bytes", 2**20),
        ("release_bytes", 2**30),
        ("job_bytes", 2**30),
    ):
        written = f"{getattr(limits, name) // unit} {'MiB' if unit == 2**20 else 'GiB'}"
        assert written in text, name


def test_the_options_of_jobs_are_listed_as_the_miner_serves_them():
    assert job_options.PAGE.read_text(encoding="utf-8") == job_options.page()


def test_the_page_gives_the_limits_of_each_kind():
    text = " ".join(PAGE.read_text().split())
    for number, what in (
        (itemsets.MOST_ITEMS, "items"),
        (itemsets.MOST_LISTED, "itemsets"),
        (itemsets.MOST_LISTED, "rules"),
        (classifiers.MOST_NODES, "nodes of a tree"),
        (classifiers.MOST_COLUMNS, "columns of a linear classifier"),
        (classifiers.MOST_CLASSES, "classes"),
        (classifiers.MOST_WEIGHTS, "columns times classes"),
        (classifiers.MOST_DRAWN, "records drawn for one times classes"),
        (tables.MOST_BYTES // MEBIBYTE, "MiB of JSON of a contingency table"),
    ):
        assert f"{number:,} {what}" in text


def test_the_page_shows_the_problem_that_is_answered(miner):
    headers = {"Authorization": "Bearer wrong"}
    answer = miner.client.get("/v1/studies", headers=headers)
    shown = json.loads(blocks("json")[0])
    assert shown == answer.json() | {"request": shown["request"]}


def curl_is_new_enough():
    """Whether there is a curl that knows --json and --fail-with-body."""
    if shutil.which("curl") is None or shutil.which("bash") is None:
        return False
    told = subprocess.run(["curl", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.match(r"curl (\d+)\.(\d+)", told)
    return found is not None and tuple(map(int, found.groups())) >= (7, 82)


def run_page(blocks, url, folder):
    """Run a page's blocks at a service; what Python reads from one runs where all is loaded."""
    admin = (folder / "admin").read_text().strip()
    script = f"MINER={url}\nADMIN={admin}\n" + "\necho\n".join(blocks)
    return run_script(script, folder, {"python3": ""}, alone=("-c",))


@pytest.mark.end_to_end
@pytest.mark.skipif(not curl_is_new_enough(), reason="needs bash and curl 7.82 or newer")
def test_the_examples_run(serve, tmp_path):
    url, _, _ = serve("--admin-token-file", str(tmp_path / "admin"))
    done = run_page(blocks("sh"), url, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"state":"sealed"' in done.stdout
    assert '"state":"identical"' in done.stdout
    assert '"state":"succeeded"' in done.stdout
    assert "probability ( A )" in done.stdout
    assert "<svg" in (tmp_path / "model.svg").read_text()
    assert "<svg" in (tmp_path / "model.html").read_text()
    assert done.stdout.count('"kind":"bayes-net-structure"') == 1
    assert '"kind":"masked-records"' in done.stdout
    assert re.search(r"^age,3\.\d+", done.stdout, re.MULTILINE)
    assert "A,B,count,projected,se_records,se_population,low,high" in done.stdout
    assert "antecedent,consequent" in done.stdout
    assert "|--- A = yes" in done.stdout
    assert read_predictor((tmp_path / "tree.json").read_text()).target.name == "B"
    assert "<svg" in (tmp_path / "weights.svg").read_text()


@pytest.mark.end_to_end
@pytest.mark.skipif(not curl_is_new_enough(), reason="needs bash and curl 7.82 or newer")
def test_the_example_of_single_records_runs(serve, tmp_path):
    url, _, _ = serve("--admin-token-file", str(tmp_path / "admin"))
    done = run_page(blocks("sh", SINGLE_RECORDS), url, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "by more than a factor of 9\n" in done.stdout
    assert done.stdout.count('"batch":"0b6f3f64a5d14f0b","records":50') == 2
    assert '"state":"open"' in done.stdout
    assert '"state":"sealed"' in done.stdout
    assert '"state":"closed"' in done.stdout
    assert '"state":"withdrawn"' in done.stdout
    assert (tmp_path / "report-0.json").stat().st_mode & 0o777 == 0o600
