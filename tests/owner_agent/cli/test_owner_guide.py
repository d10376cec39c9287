"""The owner's guide is true: its sample is valid, and nothing it should name is left out."""

import re
import runpy
import tomllib
from typing import get_args

import numpy as np
import pytest
import typer

from owner_agent.cli.main import build
from owner_agent.release.ledger import EntryState
from owner_agent.site import channels, site
from owner_agent.site import tree_section as sharing
from owner_agent.site.mask_section import MaskSection, TellSection
from owner_agent.site.planning import planned
from owner_agent.site.sections import StudyPlanSection
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from pramana.setups import store
from pramana_core.mask.catalogue import METHODS
from tests.places import ROOT

DOCS = ROOT / "docs"
GUIDE, KEYS, MASKING, SHARING = (
    (DOCS / f"{name}.md").read_text(encoding="utf-8")
    for name in ("owner-guide", "site-keys", "masking", "model-sharing")
)


def _commands(command, words=()):
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from _commands(inner, (*words, name))
    else:
        yield words, command


COMMANDS = dict(_commands(typer.main.get_command(build(Environment()))))


def test_the_sample_site_file_is_valid(tmp_path):
    (sample,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    made = planned(site.site_from(tomllib.loads(sample), tmp_path))
    assert made.plan.domain.names == ("smoker", "age", "region", "sex", "income")


@pytest.mark.parametrize(
    "section",
    [
        site.SiteFile, StudyPlanSection, site.MinerSection, site.VariableSection, site.BlockSection,
        MaskSection, TellSection, sharing.ShareModelSection, sharing.TargetSection,
        sharing.AttributeSection, sharing.RequirementSection,
        sharing.GrowthSection, sharing.PrivateSection,
        channels.SymmetricSpec, channels.CyclicSpec, channels.MatrixSpec,
        channels.GroupedSpec, channels.GammaDiagonalSpec, channels.RandomGammaDiagonalSpec,
        channels.MaskSpec,
        channels.CutAndPasteSpec, channels.SampledSpec,
    ],
)  # fmt: skip
def test_every_key_of_the_site_file_is_described(section):
    for key in section.model_fields:
        page = GUIDE if "kind" in section.model_fields else KEYS
        assert re.search(rf"\b{key}\b", page), f"{key} is not described"
    kinds = (
        get_args(section.model_fields["kind"].annotation) if "kind" in section.model_fields else ()
    )
    for kind in kinds:
        assert f"| `{kind}` |" in GUIDE


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_is_described(words):
    name = " ".join(words)
    assert f"owner-agent {name}" in GUIDE or f"`{name}`" in GUIDE or f"`{words[-1]}`" in GUIDE


def test_the_sample_of_masking_is_valid_and_names_all_methods(tmp_path):
    (sample,) = re.findall(r"```\n(owner = [^`]*?\[mask\].*?)```", MASKING, re.DOTALL)
    read = site.site_from(tomllib.loads(sample), tmp_path).mask
    assert read.columns == ("age", "gender", "expenditure", "debt")
    assert read.tell[1].categories == ("f", "m")
    named = re.search(r"needs a named method: (.*?)\.", MASKING, re.DOTALL)
    assert re.findall(r"`([a-z-]+)`", named[1]) == list(METHODS)


@pytest.mark.slow
def test_the_store_of_the_guide_is_masked_as_it_prints(tmp_path, capsys):
    (sample,) = re.findall(r"```\n(owner = [^`]*?\[mask\].*?)```", MASKING, re.DOTALL)
    (tmp_path / "site.toml").write_text(sample, encoding="utf-8")
    frame = store(1)
    frame = frame.round({"age": 0, "expenditure": 2, "debt": 2})
    frame["gender"] = np.where(frame["gender"] == 1, "m", "f")
    frame.insert(0, "customer", range(len(frame)))
    frame.to_csv(tmp_path / "customers.csv", index=False)
    for name, key in (("draw", bytes(range(1, 33))), ("linkage", bytes(range(2, 34)))):
        KeyStore(tmp_path / ".pramana").add(name, key)
    command = typer.main.get_command(build(Environment()))
    command(["mask", "--site", str(tmp_path / "site.toml")], standalone_mode=False)
    printed = " ".join(capsys.readouterr().out.split())
    shown = re.search(
        r"    (what masking would .*?value shows)\n.*    (The hardest.*?be kept\.)",
        MASKING,
        re.DOTALL,
    )
    for text in shown.groups():
        assert " ".join(text.split()) in printed
    assert (tmp_path / ".pramana" / "report" / "mask.html").exists()


EXAMPLE = ROOT / "examples" / "model-sharing"


def test_the_samples_of_shared_trees_are_valid_and_those_of_the_example(tmp_path):
    (sample,) = re.findall(r"```\n(owner = [^`]*?\[share_model\].*?)```", SHARING, re.DOTALL)
    (private,) = re.findall(r"```\n(\[share_model\].*?)```", SHARING, re.DOTALL)
    head = sample.partition("[share_model]")[0]
    for name, text in (("site", sample), ("private", head + private)):
        read = site.site_from(tomllib.loads(text), tmp_path).share_model
        given = tomllib.loads((EXAMPLE / f"{name}.toml").read_text(encoding="utf-8"))
        example = site.site_from(given, tmp_path).share_model
        assert (read.columns, read.target) == (example.columns, example.target)
        assert (read.requirement is None) == (example.requirement is None)
        assert read.required == example.required


def test_the_clinic_of_the_guide_shares_the_tree_that_it_prints(tmp_path, monkeypatch, capsys):
    for name in ("site.toml", "patients.py"):
        (tmp_path / name).write_bytes((EXAMPLE / name).read_bytes())
    monkeypatch.setattr("sys.argv", ["patients.py"])
    runpy.run_path(str(tmp_path / "patients.py"), run_name="__main__")
    (tmp_path / "patients.csv").write_text(capsys.readouterr().out, encoding="utf-8")
    for name, key in (("draw", bytes(range(1, 33))), ("linkage", bytes(range(2, 34)))):
        KeyStore(tmp_path / ".pramana").add(name, key)
    monkeypatch.setenv("COLUMNS", "100")
    command = typer.main.get_command(build(Environment()))
    command(["share-model", "--site", str(tmp_path / "site.toml")], standalone_mode=False)
    printed = " ".join(capsys.readouterr().out.split())
    shown = re.search(
        r"    (the tree to be sent.*?correctly,).*?    (What this.*?anonymity\)).*?"
        r"(Always .*?violate it\.)",
        SHARING,
        re.DOTALL,
    )
    for text in shown.groups():
        assert " ".join(text.split()) in printed
    assert (tmp_path / ".pramana" / "report" / "share-model.message.json").exists()


def test_every_command_and_option_in_the_guide_exists():
    lines = re.findall(r"^    owner-agent (.*?)(?:\s+#.*)?$", GUIDE, re.MULTILINE)
    assert len(lines) >= 12
    for line in lines:
        words = tuple(line.split())
        command = COMMANDS.get(words[:1]) or COMMANDS[words[:2]]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, line
    spoken = set(re.findall(r"`(--[a-z-]+)", GUIDE))
    assert spoken <= {o for command in COMMANDS.values() for p in command.params for o in p.opts}


def test_every_state_is_in_the_guide():
    for state in get_args(EntryState):
        assert f"| {state} |" in GUIDE
