"""docs/api.md is true: its examples run, its tables and limits are those of the service."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from miner_service.problems import PROBLEMS
from miner_service.settings import Limits

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def blocks(language):
    """Return the page's blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


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
    assert len(rows) == 9
    for status, codes in rows:
        for code in re.findall(r"`([a-z-]+)`", codes):
            assert PROBLEMS[code][0] == int(status), code


def test_the_page_gives_the_limits():
    text, limits = " ".join(PAGE.read_text().split()), Limits()
    numbers = ("parts", "variables", "categories", "channel_size", "job_cells", "model_parameters")
    for name in numbers:
        assert f"{getattr(limits, name):,}" in text, name
    for name, unit in (("json_bytes", 2**20), ("part_bytes", 2**20), ("release_bytes", 2**30)):
        written = f"{getattr(limits, name) // unit} {'MiB' if unit == 2**20 else 'GiB'}"
        assert written in text, name


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


@pytest.mark.end_to_end
@pytest.mark.skipif(not curl_is_new_enough(), reason="needs bash and curl 7.82 or newer")
def test_the_examples_run(serve, tmp_path):
    url, _, _ = serve("--admin-token-file", str(tmp_path / "admin"))
    script = "set -euo pipefail\n" + "\necho\n".join(blocks("sh"))
    python = Path(sys.executable).parent
    environment = {
        **os.environ,
        "MINER": url,
        "ADMIN": (tmp_path / "admin").read_text().strip(),
        "PATH": f"{python}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"state":"sealed"' in done.stdout
    assert '"state":"identical"' in done.stdout
    assert '"state":"succeeded"' in done.stdout
    assert "probability ( A )" in done.stdout
