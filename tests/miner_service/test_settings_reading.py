"""The settings file: what it says holds, what it cannot mean is refused by name."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from miner_service.cli.opening import settings_of
from miner_service.settings import SECTIONS, Settings, read_settings
from pramana_core.errors import ConfigError
from tests.places import ROOT

SAMPLE = ROOT / "deploy" / "miner.toml"


@pytest.fixture
def written(tmp_path):
    """Write a settings file; return its path."""

    def write(text):
        path = tmp_path / "miner.toml"
        path.write_text(text)
        return path

    return write


def test_what_a_file_says_holds_and_the_rest_is_as_without_one(written, tmp_path):
    file = written(
        "[jobs]\nworkers = 5\nlease_seconds = 30\n[web]\ncertificate = 'tls/miner.pem'\n"
        "private_key = '/etc/miner.key'\n"
        "[storage]\ndatabase = 'postgresql://db/miner'\n"
    )
    settings = settings_of(tmp_path, None, file, port=0)
    assert settings.jobs.workers == 5
    assert settings.jobs.lease_seconds == 30.0
    assert settings.jobs.beat_seconds == Settings(tmp_path).jobs.beat_seconds
    assert settings.web.certificate == tmp_path / "tls" / "miner.pem"
    assert settings.web.private_key == Path("/etc/miner.key")
    assert settings.storage.database == "postgresql://db/miner"
    assert settings.limits == Settings(tmp_path).limits
    assert settings.port == 0


def test_the_command_line_holds_before_the_file(written, tmp_path):
    file = written("[storage]\ndatabase = 'postgresql://db/miner'\nfiles = 'records'\n")
    settings = settings_of(tmp_path, "postgresql://other/miner", file)
    assert settings.storage.database == "postgresql://other/miner"
    assert settings.storage.files == tmp_path / "records"
    assert "other" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[job]\n", "job"),
        ("[jobs]\nworker = 1\n", "worker"),
        ("jobs = 3\n", "jobs"),
        ("[jobs]\nworkers = 'two'\n", "jobs.workers"),
        ("[jobs]\nworkers = 2.5\n", "jobs.workers"),
        ("[jobs]\nworkers = true\n", "jobs.workers"),
        ("[web]\ncertificate = 1\n", "web.certificate"),
        ("[jobs]\nlease_seconds = 0\n", "jobs.lease_seconds"),
        ("[web]\ntrusted_proxies = ['proxy']\n", "web.trusted_proxies"),
        ("[jobs]\nlease_seconds = nan\n", "jobs.lease_seconds"),
        ("[storage]\ndatabase = postgresql://u:geheim@h/x\n", "miner.toml"),
    ],
)
def test_what_a_file_cannot_mean_is_refused_by_name(written, text, where):
    with pytest.raises(ConfigError) as told:
        read_settings(written(text))
    assert str(told.value.where).endswith(where)
    assert "geheim" not in str(told.value)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ConfigError):
        read_settings(tmp_path / "miner.toml")


def test_the_sample_has_every_setting_with_the_value_it_has_without(tmp_path: Path):
    """Those that are something else than a default are there as comments."""
    read = read_settings(SAMPLE)
    assert read == {name: section() for name, section in SECTIONS.items()}
    told = tomllib.loads(re.sub(r"^# (?=[a-z_]+ = )", "", SAMPLE.read_text(), flags=re.MULTILINE))
    for name, section in SECTIONS.items():
        assert set(told[name]) == {field.name for field in fields(section)}, name
