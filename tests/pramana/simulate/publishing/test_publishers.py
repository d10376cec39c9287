"""Publishers: the protocol with a process, by a process of our own that stands for anjana's."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.reproduce.sharkey.cells import RecordedLevels, label
from pramana.simulate.model_sharing_options import (
    PUBLISHER,
    WORKER,
    FullDomain,
    Process,
    SimulationOptions,
    publisher_of,
)
from pramana.simulate.model_sharing_simulation import PreparedTable, simulate
from pramana.simulate.model_sharing_tables import SharingTable, learn_published
from pramana_core.errors import NotInstalled, OptionError
from pramana_core.mixed import CategoricalColumn, MixedTable
from pramana_core.model_sharing.requirements import Requirement

ASKED = Requirement(c=4.0, l=2)

FAKE = """
import json, sys
request = json.load(sys.stdin)
top = {name: len(levels) - 1 for name, levels in request["levels"].items()}
json.dump({"version": "0", "published": [%s for one in request["requirements"]]}, sys.stdout)
"""


def table(size: int = 120) -> SharingTable:
    rng = np.random.default_rng(5)
    shape, colour = rng.integers(0, 3, size), rng.integers(0, 2, size)
    classes = (shape + (rng.uniform(size=size) < 0.3)) % 2
    columns = (
        CategoricalColumn("shape", shape, ("a", "b", "c")),
        CategoricalColumn("colour", colour, ("x", "y")),
        CategoricalColumn("class", classes, ("no", "yes")),
    )
    return SharingTable("made", MixedTable(columns, size), "class")


def fake(folder: Path, answer: str) -> Process:
    worker = folder / "worker.py"
    worker.write_text(FAKE % answer, encoding="utf-8")
    return Process(sys.executable, worker)


def publish(publisher, asked=ASKED):
    kept = PreparedTable(table())
    return publisher.publish(kept.schema, kept.attributes, kept.codes, [asked])


def test_a_process_publishes_what_it_answers(tmp_path):
    assert publish(fake(tmp_path, "top")) == [{"shape": 1, "colour": 1}]
    assert publish(fake(tmp_path, "None")) == [None]
    assert fake(tmp_path, "top").version == "0"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("{'shape': 1}", "not those of the attributes"),
        ("{'shape': 9, 'colour': 0}", "not those of the attributes"),
        ("{'shape': True, 'colour': 0}", "not those of the attributes"),
        ("{name: 0 for name in top}", "does not meet"),
        ("1", "not those of the attributes"),
    ],
)
def test_what_a_process_answers_is_checked(tmp_path, answer, words):
    with pytest.raises(OptionError, match=words):
        publish(fake(tmp_path, answer), Requirement(k=100))


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("print('[]')", "JSON object"),
        ("print('no')", "JSON object"),
        ("raise SystemExit(3)", "code 3"),
        ("print('{}')", "one publication for each"),
    ],
)
def test_a_process_that_fails_is_told_of(tmp_path, script, words):
    worker = tmp_path / "worker.py"
    worker.write_text(script, encoding="utf-8")
    with pytest.raises(OptionError, match=words):
        publish(Process(sys.executable, worker))


@pytest.mark.slow
def test_what_is_not_installed_is_told_of_with_a_remedy(tmp_path, monkeypatch):
    with pytest.raises(NotInstalled, match="no Python") as found:
        publish(Process(str(tmp_path / "python")))
    assert "make publishing-peer" in found.value.remedy
    with pytest.raises(NotInstalled, match="has no anjana"):
        publish(Process(sys.executable))
    monkeypatch.delenv(PUBLISHER, raising=False)
    with pytest.raises(NotInstalled, match="environment of its own"):
        publisher_of()


def test_a_publisher_is_found_by_its_name(monkeypatch):
    monkeypatch.setenv(PUBLISHER, "/there/python")
    assert publisher_of() == Process("/there/python")
    assert publisher_of("full-domain") == FullDomain()
    assert publisher_of(FullDomain()) == FullDomain()


def test_our_own_search_publishes_what_meets_the_requirement_or_nothing():
    (levels,) = publish(FullDomain())
    assert levels is not None
    assert publish(FullDomain(), Requirement(k=1000)) == [None]


def test_recorded_levels_are_taken_where_the_records_meet_them(tmp_path):
    fine, all_ = {"shape": 0, "colour": 0}, {"shape": 1, "colour": 1}
    asked = Requirement(k=100)
    kept = RecordedLevels({label(asked): [fine, fine, all_, None]})
    assert publish(kept, asked) == [all_]
    assert publish(RecordedLevels({label(asked): [fine, None]}), asked) == [None]
    file = tmp_path / "p.json"
    file.write_text(
        json.dumps({"publisher": "p", "version": "1", "tables": {"t": {label(asked): [all_]}}}),
        encoding="utf-8",
    )
    assert RecordedLevels.read(file, "t").name == "p 1"


def test_a_model_of_published_records_is_asked_at_their_levels():
    kept = PreparedTable(table())
    levels = {"shape": 0, "colour": 1}
    found = learn_published(kept.schema, kept.attributes, kept.codes, levels, "naive-bayes")
    codes = found.predict(kept.attributes)
    flipped = MixedTable(
        (
            kept.attributes["shape"],
            CategoricalColumn("colour", 1 - kept.attributes["colour"].codes, ("x", "y")),
        ),
        kept.attributes.records,
    )
    assert codes.tolist() == found.predict(flipped).tolist()
    assert found.kind == "naive-bayes"
    assert np.mean(codes == kept.codes) > 0.6


def test_publishing_is_simulated_fold_by_fold():
    asked = SimulationOptions(
        method="ldiversity", requirement=ASKED, publisher="full-domain", model="naive-bayes",
        folds=3,
    )  # fmt: skip
    found = simulate(table(), asked)
    assert found.without_model == 0
    assert (found.spread("accuracy")["mean"] or 0) > 0.5
    assert found.as_dict()["options"]["publisher"] == "full-domain"
    nothing = simulate(table(), asked.with_(requirement=Requirement(k=1000, c=4.0, l=2)))
    assert nothing.without_model == 3


@pytest.mark.skipif(
    not os.environ.get(PUBLISHER), reason=f"{PUBLISHER} names no Python that has anjana"
)
def test_anjana_publishes_what_meets_the_requirement():
    found = publish(Process(os.environ[PUBLISHER]))
    assert len(found) == 1


def test_the_worker_imports_nothing_of_ours():
    text = WORKER.read_text(encoding="utf-8")
    imported = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert not [line for line in imported if "pramana" in line or "shared" in line]
