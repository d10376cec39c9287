"""Whatever file of the state cannot be read, a command answers with a sentence, no traceback."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from owner_agent.cli.main import build
from owner_agent.state.keys import KeyStore
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import KeyFileError, PramanaError

DAMAGES = {
    "binary": lambda path: path.write_bytes(bytes(range(256))),
    "empty": lambda path: path.write_bytes(b""),
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "link to nothing": lambda path: (path.unlink(), path.symlink_to("nowhere")),
}
COMMANDS = [["publish", "--yes"], ["ledger"]]


def answered(environment, site, words):
    """Run a command; whatever it raises must be what `terminal.run` turns into a sentence."""
    result = CliRunner().invoke(build(environment), [*words, "--site", str(site)])
    error = result.exception
    known = (PramanaError, SystemExit, type(None))
    named = isinstance(error, OSError) and error.filename is not None
    assert isinstance(error, known) or named, (words, repr(error))


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["binary", "folder"])
def test_every_file_of_the_state(bench, damage, tmp_path_factory):
    site, kept = bench.folder / "site.toml", tmp_path_factory.mktemp("kept") / "state"
    answered(bench.environment, site, ["publish", "--yes"])
    shutil.copytree(bench.state, kept)
    # One of each kind of file in a folder: there are several parts and keys.
    kinds = {(Path(name).parent, Path(name).suffix): name for name in bench.files()}
    names = list(kinds.values())
    assert len(names) > 5
    for name in names:
        for words in COMMANDS:
            DAMAGES[damage](bench.state / name)
            answered(bench.environment, site, words)
            shutil.rmtree(bench.state)
            shutil.copytree(kept, bench.state)


@pytest.mark.parametrize("damage", DAMAGES)
def test_secrets_name_their_file(bench, damage):
    store = TokenStore(bench.state)
    secrets = {
        store.path("asia"): lambda: store.load("asia"),
        KeyStore(bench.state).path("draw"): lambda: KeyStore(bench.state).read("draw"),
    }
    for path, read in secrets.items():
        DAMAGES[damage](path)
        if path.is_dir():
            path.chmod(0o700)
        elif path.exists():
            path.chmod(0o600)
        if damage == "link to nothing" and not path.exists() and "tokens" in path.parts:
            continue  # it counts as absent: the site has not joined
        with pytest.raises(KeyFileError) as refused:
            read()
        assert refused.value.where == str(path)
