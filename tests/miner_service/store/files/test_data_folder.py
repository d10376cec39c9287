"""A data directory in which other people may write is refused by every command that uses it."""

from __future__ import annotations

import pytest

from tests.forked import run_command

COMMANDS = [
    ("serve", "--port", "0", "--data"),
    ("worker", "--data"),
    ("check", "--data"),
    ("backup", "copy", "--data"),
    ("admin-token", "--rotate", "--data"),
    ("study", "create", "s", "--data"),
]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_it_is_refused(words, mode, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    (data / "miner.sqlite").touch()
    data.chmod(mode)
    ended = run_command("miner_service", *words, str(data))
    assert (ended.returncode, f"{mode:04o}" in ended.stderr) == (3, True), ended.stderr
    assert not (tmp_path / "copy").exists()
