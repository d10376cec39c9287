"""examples/notebook/berkeley.py: at most 25 lines, from a public table to models and a picture."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.image import imread

from tests.places import ROOT

SCRIPT = ROOT / "examples" / "notebook" / "berkeley.py"
PICTURE = "face.png"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the script prints, and the folder with its picture."""
    folder = tmp_path_factory.mktemp("pictures")
    path = os.pathsep.join((str(ROOT), str(ROOT / "shared")))
    environment = os.environ | {"PYTHONPATH": path, "MPLBACKEND": "Agg"}
    ran = subprocess.run(
        [sys.executable, "-W", "error", SCRIPT, folder],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, folder


@pytest.mark.slow
def test_the_estimates_of_the_script_are_near_the_truth(done: tuple[str, Path]):
    """Four standard errors of the noise given these records; seeded, so that it never varies."""
    said, _ = done
    rows = re.findall(r"^\d+\s+\w+\s+\w+\s+(.*)$", said, re.MULTILINE)
    cells = [[float(word) for word in row.split() if word != "False"] for row in rows]
    assert len(cells) == 4
    for count, se_records, _, _, _, true in cells:
        assert abs(count - true) < 4 * se_records


def test_the_picture_of_the_readme_is_the_script_s(done: tuple[str, Path]):
    _, folder = done
    if os.environ.get("PRAMANA_WRITE_TUTORIAL"):
        (ROOT / "docs" / "images" / PICTURE).write_bytes((folder / PICTURE).read_bytes())
    kept = imread(ROOT / "docs" / "images" / PICTURE)
    made = imread(folder / PICTURE)
    assert kept.shape == made.shape
    assert abs(kept - made).mean() < 0.01
