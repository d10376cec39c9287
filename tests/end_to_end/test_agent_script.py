"""The script of an owner's container, with a stand-in for `owner-agent` that writes down its calls.

Every start may be interrupted anywhere, and the next one goes on.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.places import ROOT

SCRIPT = ROOT / "deploy" / "agent.sh"

STAND_IN = """#!/bin/sh
echo "$*" >> "$PRAMANA_ROOT/calls"
state="$PRAMANA_ROOT/owner/.pramana"
case "$1" in
    keys) mkdir -p "$state/keys"; touch "$state/keys/draw.key" "$state/keys/linkage.key" ;;
    join)
        # As the miner does: an invitation can be used once.
        [ -e "$PRAMANA_ROOT/used" ] && exit 4
        touch "$PRAMANA_ROOT/used"
        mkdir -p "$state/tokens"; echo token > "$state/tokens/asia.token"
        [ -e "$PRAMANA_ROOT/die-after-join" ] && kill -9 $PPID
        exit 0 ;;
    publish) exit "$(cat "$PRAMANA_ROOT/publish")" ;;
esac
"""


@dataclass(frozen=True)
class Container:
    """A folder as an owner's container has it."""

    root: Path

    def publishing_ends_with(self, code: int) -> None:
        (self.root / "publish").write_text(str(code))

    def start(self) -> tuple[int, list[str]]:
        """Run the script; return how it ended and the commands it called."""
        calls = self.root / "calls"
        calls.write_text("")
        environment = {
            "PATH": f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PRAMANA_ROOT": str(self.root),
        }
        ended = subprocess.run(["sh", str(SCRIPT), "other"], env=environment, check=False)
        return ended.returncode, [line.split()[0] for line in calls.read_text().splitlines()]


@pytest.fixture
def container(tmp_path: Path) -> Container:
    for name in ("bin", "owner", "drop"):
        (tmp_path / name).mkdir()
    stand_in = tmp_path / "bin" / "owner-agent"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    (tmp_path / "drop" / "table.csv").write_text("id\n")
    (tmp_path / "drop" / "site.toml").write_text(
        'owner = "north"\n[miner]\nurl = "http://miner:8000"\nstudy = "asia"\n'
    )
    made = Container(tmp_path)
    made.publishing_ends_with(0)
    return made


def test_a_start_that_ended_just_after_joining_is_taken_up(container: Container):
    mark = container.root / "die-after-join"
    mark.touch()
    code, calls = container.start()
    assert code != 0
    assert calls[-1] == "join"
    mark.unlink()
    assert container.start() == (0, ["publish", "serve"])
    assert container.start() == (0, ["publish", "serve"])


def test_another_study_is_joined(container: Container):
    assert container.start()[0] == 0
    site = container.root / "owner" / "site.toml"
    site.write_text(site.read_text().replace('"asia"', "'europe' # the next one"))
    assert container.start() == (4, ["join"])


@pytest.mark.parametrize("code", [2, 4, 5])
def test_only_a_miner_that_does_not_answer_is_overlooked_after_the_first_time(
    container: Container, code: int
):
    container.publishing_ends_with(code)
    assert container.start()[0] == code
    container.publishing_ends_with(0)
    assert container.start() == (0, ["publish", "serve"])
    container.publishing_ends_with(code)
    ended, calls = container.start()
    assert (ended, calls) == ((0, ["publish", "serve"]) if code == 5 else (code, ["publish"]))
