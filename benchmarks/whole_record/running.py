"""Runs a setting's command as a person would, and keeps what it answers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.networks.running import network_file
from benchmarks.reproduce.engine import Setting as Experiment
from benchmarks.reproduce.frapp.data import census
from benchmarks.whole_record.settings import FILES, Setting

Found = dict[str, Any]


def source_of(setting: Setting, data: Path, scratch: Path) -> Path:
    """Return the file of a setting's table or network, made in `scratch` where it is made."""
    if setting.source in FILES:
        return data / FILES[setting.source]
    if setting.source == "census":
        path = scratch / "census.csv"
        if not path.exists():
            survey = census(Experiment(data=data))
            labels = {v.name: np.array(v.categories)[survey.codes[v.name]] for v in survey.domain}
            pd.DataFrame(labels).to_csv(path, index=False)
        return path
    return network_file(setting.source, scratch)


def measured(setting: Setting, data: Path, scratch: Path, runs: int) -> Found:
    """Run a setting; return its figures, or what was said where it was refused."""
    arguments = setting.arguments(source_of(setting, data, scratch), runs)
    command = [sys.executable, "-m", "pramana", "simulate", *arguments, "--json", "-"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    told = {"name": setting.name, "command": " ".join(["pramana simulate", *arguments])}
    told["command"] = told["command"].replace(str(data), "DATA").replace(str(scratch), "SCRATCH")
    if made.returncode:
        return told | {"refused": made.stderr.strip().splitlines()[-4:]}
    answer = json.loads(made.stdout)
    kept = {"design": answer["setting"]["design"], "estimator": answer["setting"].get("estimator")}
    return told | kept | _figures(setting, answer)


def _figures(setting: Setting, answer: Found) -> Found:
    if setting.learner == "rules":
        return {"by_length": answer["by_length"]}
    if setting.learner == "bayes-net":
        means = {"links": answer["true_links"], "randomized": answer["mean"]}
        return means | {"clean": answer["clean"]["mean"]}
    return {key: answer[key] for key in ("accuracy", "clean_accuracy", "majority")}
