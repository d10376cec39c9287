"""docs/single-records.md is true: its blocks run against a real miner."""

from __future__ import annotations

import re

import pytest

from tests.miner_service.test_api_page import curl_is_new_enough, run_page
from tests.places import ROOT

PAGE = ROOT / "docs" / "single-records.md"


@pytest.mark.end_to_end
@pytest.mark.skipif(not curl_is_new_enough(), reason="needs bash and curl 7.82 or newer")
def test_the_example_runs(serve, tmp_path):
    url, _, _ = serve("--admin-token-file", str(tmp_path / "admin"))
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    done = run_page(blocks, url, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "by more than a factor of 9\n" in done.stdout
    assert done.stdout.count('"batch":"0b6f3f64a5d14f0b","records":50') == 2
    assert '"state":"open"' in done.stdout
    assert '"state":"sealed"' in done.stdout
    assert '"state":"closed"' in done.stdout
    assert '"state":"withdrawn"' in done.stdout
    assert (tmp_path / "report-0.json").stat().st_mode & 0o777 == 0o600
