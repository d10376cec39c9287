"""The page that tells of the client says what runs."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest

import pramana as pm
from tests.places import ROOT


@pytest.mark.slow
def test_the_example_of_the_page_runs(world, tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    os.close(os.open("analyst.token", os.O_CREAT | os.O_WRONLY, 0o600))
    (tmp_path / "analyst.token").write_text(world.token)
    real = pm.connect
    monkeypatch.setattr(
        pm, "connect", lambda url, **o: real(url, transport=world.transport, **o), raising=False
    )
    names: dict[str, Any] = {}
    exec(block, names)
    said = capsys.readouterr().out
    assert "the same 2,201 records at every owner" in said
    assert "Disclosure(whole record: gamma 1.969e+04, epsilon 9.888" in said
    assert "sex" in said
    assert list(names["table"].columns)[:3] == ["sex", "survived", "count"]
