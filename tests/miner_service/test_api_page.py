"""docs/api.md is true: its examples run, its tables and limits are those of the service."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import fields

import pytest

from miner_service.kinds import JOB_KINDS, classifiers, itemsets, tables
from miner_service.settings import MEBIBYTE, Limits
from pramana_core.estimation.evidence import TEST_CELLS
from pramana_core.learn.learners import read_predictor
from pramana_core.wire.jobs import BayesNetStructureSpec, CountsSpec, RecordsSpec
from pramana_core.wire.services import known_problems
from tests.places import ROOT
from tests.shells import run_script

PAGE = ROOT / "docs" / "api.md"


def blocks(language):
    """Return the page's blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


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
        for code in re.findall(r"`([a-z-]+)`", codes):
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


OWN = {
    "contingency-table",
    "association-rules",
    "decision-tree",
    "linear-classifier",
    "bayes-classifier",
    "regression",
}
WORDS = {"variables": "all that are reported", "search.order": "none"}
LEFT_OUT = {
    "attributes": "all that are reported",
    "features": "all that are reported",
    "numeric": "none",
}
WORDS_OF = {"regression": {"features": "all that are released"}}


def options_told(kind):
    """The options in the first table after the first words on the job of a kind, with defaults."""
    text = PAGE.read_text()
    table = text[text.index(f"The job `{kind}`") :].split("| option |")[1].split("\n\n")[0]
    return dict(re.findall(r"^\| `([a-z0-9_.]+)` \| (.+?) \| .+ \|$", table, re.MULTILINE))


def test_the_page_tells_every_option_of_a_search_with_its_default():
    spec = BayesNetStructureSpec(kind="bayes-net-structure").model_dump()
    search = {f"search.{name}": value for name, value in spec["search"].items()}
    own = {name: spec[name] for name in ("variables", "score", "draws", "seed")}
    wanted = {**own, **search}
    told = options_told("bayes-net-structure")
    assert told == {n: WORDS.get(n, in_the_page(value)) for n, value in wanted.items()}


def test_the_page_tells_every_option_of_every_other_job_with_its_default():
    specs = {s.model_fields["kind"].annotation.__args__[0]: s for s in JOB_KINDS}
    assert set(specs) >= OWN
    for kind in OWN:
        wanted = {}
        for name, field in specs[kind].model_fields.items():
            if name in ("kind", *CountsSpec.model_fields, *RecordsSpec.model_fields):
                continue
            default = field.get_default(call_default_factory=True)
            if field.is_required():
                wanted[name] = "must be given"
            elif not default and default not in (0, False):
                wanted[name] = {**WORDS, **LEFT_OUT, **WORDS_OF.get(kind, {})}.get(name, "none")
            else:
                text = json.dumps(default)
                wanted[name] = f"`{text}`" if isinstance(default, str) else text
        assert options_told(kind) == wanted, kind


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
        (Limits().prediction_records, "records in a question for predictions"),
        (Limits().prediction_cells, "of them times classes"),
    ):
        assert f"{number:,} {what}" in text


def largest(schema):
    """The largest whole numbers above 1 that the options of a schema may be, by name."""
    for name, field in schema["properties"].items():
        for form in (field, *field.get("anyOf", ())):
            if form.get("maximum", 0) > 1:
                yield name, form["maximum"]


def test_the_page_gives_the_largest_value_of_every_option():
    told = 0
    for spec in JOB_KINDS:
        schema = spec.model_json_schema()
        search = schema.get("$defs", {}).get("SearchMessage", {"properties": {}})
        most = [*largest(schema), *((f"search.{name}", most) for name, most in largest(search))]
        for name, number in most:
            if number == 10**12:
                assert "at most 10^12" in PAGE.read_text()
                continue
            if name in CountsSpec.model_fields:
                continue
            rows = re.findall(rf"^\| `{re.escape(name)}` \| .+$", PAGE.read_text(), re.MULTILINE)
            assert sum(f"at most {number:,}" in row for row in rows) == 1, name
            told += 1
    assert told == 13


def in_the_page(value):
    """A default as the page writes it."""
    return f"`{json.dumps(value)}`" if isinstance(value, dict) else json.dumps(value)


def test_the_page_shows_the_problem_that_is_answered(miner):
    headers = {"Authorization": "Bearer wrong"}
    answer = miner.client.get("/v1/studies", headers=headers)
    assert json.loads(blocks("json")[0]) == answer.json()


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
    assert '"given_probability":1.0' in done.stdout
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
    assert re.search(r'"label":"yes".+"label":"no"', done.stdout)
