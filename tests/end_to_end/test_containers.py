"""docker-compose.yml, its commands run as plain processes: only addresses and folders differ.

Every service gets a folder that stands for its file system, with the volumes that it mounts and no
others; so what a container could read is what lies in that folder.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
import pytest
import yaml

from tests.forked import Forked
from tests.places import ROOT
from tests.shells import ready_programs
from tests.test_operations import parse

pytestmark = pytest.mark.end_to_end

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
ON_POSTGRESQL = yaml.safe_load((ROOT / "deploy" / "compose.postgres.yml").read_text())
OURS_ON_POSTGRESQL = {
    name: service for name, service in ON_POSTGRESQL["services"].items() if name != "database"
}
AGENTS = ("clinic", "laboratory", "registry")


@dataclass(frozen=True)
class Mount:
    """One entry of a service's volumes."""

    source: str
    target: str
    writable: bool


def mounts(service: dict[str, Any]) -> list[Mount]:
    """Return what a service mounts."""
    split = [text.split(":") for text in service["volumes"]]
    return [Mount(source, target, rest != ["ro"]) for source, target, *rest in split]


def users(services: dict[str, Any]) -> dict[str, dict[str, bool]]:
    """Return by volume who mounts it, and whether to write."""
    found: dict[str, dict[str, bool]] = {}
    for name, service in services.items():
        for mount in mounts(service):
            found.setdefault(mount.source, {})[name] = mount.writable
    return found


@dataclass
class Machine:
    """The services' folders and ports on this machine."""

    root: Path
    ports: dict[str, int]
    path: str
    """Where the scripts of containers find our programs."""

    def make(self) -> None:
        for volume in COMPOSE["volumes"]:
            (self.root / "volumes" / volume).mkdir(parents=True, mode=0o700)
        for name, service in SERVICES.items():
            for mount in mounts(service):
                inside = self.inside(name, mount.target)
                inside.parent.mkdir(parents=True, exist_ok=True)
                inside.symlink_to(self.volume(mount.source))
            self.inside(name, "/deploy").symlink_to(ROOT / "deploy")

    def volume(self, name: str) -> Path:
        return self.root / "volumes" / name

    def inside(self, service: str, path: str) -> Path:
        """Return where a path of a container is here."""
        return self.root / "services" / service / path.lstrip("/")

    def words(self, service: str) -> list[str]:
        """Return a service's command with addresses and folders of this machine."""
        text = SERVICES[service]["command"]
        here = f"--port {self.ports['miner']}"
        text = text.replace("--host 0.0.0.0 --allow-remote --port 8000", here)
        text = text.replace("http://miner:8000", f"http://127.0.0.1:{self.ports['miner']}")
        return [
            str(self.inside(service, word)) if word.startswith("/") else word
            for word in shlex.split(text)
        ]

    def environment(self, service: str) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": self.path,
            "PRAMANA_ROOT": str(self.inside(service, "/")),
            "PRAMANA_PORT": str(self.ports.get(service, 0)),
        }

    def to_its_end(self, service: str) -> str:
        """Run a container that ends; return what it says."""
        done = subprocess.run(
            self.words(service),
            env=self.environment(service),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def readable(self, service: str) -> dict[str, bytes]:
        """Return every file that a container could read, by volume and path."""
        volumes = [mount.source for mount in mounts(SERVICES[service])]
        folder = self.root / "volumes"
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for volume in volumes
            for path in sorted((folder / volume).rglob("*"))
            if path.is_file()
        }


@contextmanager
def running(
    machine: Machine, service: str, health: str, until: Callable[..., None]
) -> Iterator[None]:
    """Run a long-lived container's command until its health check's address answers."""
    address = f"http://127.0.0.1:{machine.ports[service]}{health}"
    program, *words = machine.words(service)
    env = machine.environment(service)
    process: Forked | subprocess.Popen[bytes]
    if program == "miner-service":
        process = Forked("miner_service", *words, env=env)
    else:
        process = subprocess.Popen([program, *words], env=env)
    try:
        until(lambda: answers(address), process)
        yield
    finally:
        process.terminate()
        process.wait()


def answers(health: str) -> bool:
    """Whether a service says that it is well."""
    try:
        with urlopen(health):
            return True
    except OSError:
        return False


def secrets_of(machine: Machine, owner: str) -> dict[str, bytes]:
    """Return what is an owner's alone: its keys, its tokens, its table, and where that begins."""
    home = machine.volume(owner)
    state = home / ".pramana"
    table = (home / "table.csv").read_bytes()
    tokens = sorted((state / "tokens").glob("*.token"))
    assert len(tokens) == 1
    return {
        "draw": (state / "keys" / "draw.key").read_bytes().strip(),
        "linkage": (state / "keys" / "linkage.key").read_bytes().strip(),
        "table": table[-200:],
        **{token.name: token.read_bytes().strip() for token in tokens},
    }


def found_in(files: dict[str, bytes], secrets: dict[str, bytes]) -> set[str]:
    """Return which secrets are in any of the files."""
    return {name for name, secret in secrets.items() if any(secret in f for f in files.values())}


def test_the_compose_file_is_the_demonstration(tmp_path: Path, until, free_port):
    programs = {"owner-agent": "owner_agent", "pramana": "pramana"}
    with ready_programs(programs) as path:
        ports = {name: free_port() for name in ("miner", *AGENTS)}
        run_everything(Machine(tmp_path, ports, path), until)


def run_everything(machine: Machine, until: Callable[..., None]) -> None:
    """Run all containers, and look what each of them could read."""
    machine.make()

    def start(owner: str) -> AbstractContextManager[None]:
        return running(machine, owner, "/healthz", until)

    with running(machine, "miner", "/readyz", until):
        machine.to_its_end("organizer")
        machine.to_its_end("organizer")  # containers may start again
        with start("clinic"), start("laboratory"), start("registry"):
            said = machine.to_its_end("analyst")
    assert "95 % intervals contain the true value" in said
    results = machine.volume("results")
    result = json.loads((results / "result.json").read_text())
    assert result["records"] == 20_000
    assert (results / "report.html").stat().st_size > 10_000

    secrets = {owner: secrets_of(machine, owner) for owner in AGENTS}
    assert len({secret["linkage"] for secret in secrets.values()}) == 1
    assert len({secret["draw"] for secret in secrets.values()}) == len(AGENTS)
    for service in SERVICES:
        files = machine.readable(service)
        for owner, own in secrets.items():
            reached = found_in(files, own)
            if service == owner:  # The control: what is there is found.
                assert reached == own.keys()
            elif service in AGENTS:
                assert reached == {"linkage"}
            elif service == "organizer":  # It drew the table; no key is made where it looks.
                assert reached == {"table"}
            else:
                assert reached == set(), service


def test_every_service_mounts_its_own_volumes_only():
    found = users(SERVICES)
    assert set(found) == set(COMPOSE["volumes"])
    for owner in AGENTS:
        assert found.pop(owner) == {owner: True}
        assert found.pop(f"{owner}-drop") == {"organizer": True, owner: False}
    assert found == {
        "miner": {"miner": True},
        "admin": {"miner": True, "organizer": False, "analyst": False},
        "linkage": {"clinic": True, "laboratory": False, "registry": False},
        "results": {"analyst": True},
        "work": {"miner": True},
    }


def test_every_owner_has_a_network_with_the_miner_alone():
    for owner in AGENTS:
        assert SERVICES[owner]["networks"] == [owner]
        assert COMPOSE["networks"][owner] == {"internal": True}
        assert {name for name, one in SERVICES.items() if owner in one["networks"]} == {
            owner,
            "miner",
        }


class Overlay(yaml.SafeLoader):
    """Reads a file that is put over another, where `!reset` takes a value away."""


Overlay.add_constructor("!reset", lambda _loader, _node: None)


def added(file: str) -> dict[str, Any]:
    """Return the services that an overlay adds."""
    text = (ROOT / "deploy" / file).read_text()
    services = yaml.load(text, Overlay)["services"]
    return {name: service for name, service in services.items() if name != "miner"}


def test_every_container_drops_what_it_does_not_need():
    over = {**added("compose.cluster.yml"), **added("compose.proxy.yml")}
    assert set(over) == {"scheduler", "counter", "proxy"}
    for name, service in {**SERVICES, **OURS_ON_POSTGRESQL, **over}.items():
        assert service["mem_limit"], name
        assert service["pids_limit"], name
        assert ("restart" in service) == (name not in ("organizer", "analyst")), name
        assert service["read_only"] is True, name
        assert service["init"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        published = service.get("ports", [])
        assert all(p.startswith("127.0.0.1:") for p in published) or name == "proxy", name


def test_the_miner_on_postgresql_shares_its_records_with_its_workers_alone():
    assert users(ON_POSTGRESQL["services"]) == {
        "rows": {"database": True},
        "miner": {"miner": True, "worker": True},
        "admin": {"miner": True},
        "work": {"miner": True},
    }
    assert set(users(ON_POSTGRESQL["services"])) == set(ON_POSTGRESQL["volumes"])
    addresses = {
        service["environment"]["PRAMANA_DATABASE"] for service in OURS_ON_POSTGRESQL.values()
    }
    (address,) = addresses
    assert address == "postgresql://miner@database/miner"  # The password is in no address.
    (secret,) = ON_POSTGRESQL["secrets"]
    services = ON_POSTGRESQL["services"]
    assert [service["secrets"] for service in services.values()] == [[secret]] * len(services)
    named = {
        value
        for service in services.values()
        for name, value in service["environment"].items()
        if "PASSWORD" in name
    }
    assert named == {f"/run/secrets/{secret}"}
    assert "ports" not in ON_POSTGRESQL["services"]["database"]


@pytest.mark.parametrize("service", [SERVICES["miner"], *OURS_ON_POSTGRESQL.values()])
def test_the_commands_of_the_miner_are_and_may_take_their_time_to_end(service: dict[str, Any]):
    parse(service["command"])
    assert service["stop_grace_period"] == "60s"


def test_each_image_has_the_extras_that_the_page_lists():
    given = re.findall(
        r"^ARG EXTRAS=(.+)$", (ROOT / "deploy" / "Dockerfile").read_text(), re.MULTILINE
    )
    page = (ROOT / "deploy" / "README.md").read_text()
    (row,) = re.findall(r"^\| extras \|(.+)\|(.+)\|$", page, re.MULTILINE)
    assert [cell.replace("`", "").replace(" ", "") for cell in row] == given
    assert {"sheets", "databases"} <= set(given[0].split(",")), "an owner's table may be either"


ENGINE_TOOLS = {
    **dict.fromkeys(("dpkg", "perl", "true"), ""),
    "git": "echo 0 HEAD",
    "setpriv": 'shift 2; exec "$@"',
    "unshare": 'shift 5; [ "$1" != -n ] || shift; exec "$@"',
    "apt-get": "echo http://user:password@127.0.0.1:9/",
}
"""Stand-ins of the programs that the engine of `make compose` needs, with no mirror behind them."""

ENGINE = (sys.executable, "deploy/engine.py", "deploy/rehearse.py")
NAMESPACES = ("sh", "-c", "unshare -mpnf --mount-proc true")


def write_tool(folder: Path, name: str, does: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{does}\n")
    (folder / name).chmod(0o700)


@pytest.mark.parametrize("absent", ["setpriv", "checkout", "cache", "mirror"])
@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("apt-get") is None, reason="not Debian's root"
)
def test_the_rehearsal_is_skipped_by_name_where_a_machine_cannot_do_it(tmp_path: Path, absent: str):
    for tool, does in ENGINE_TOOLS.items():
        if tool != absent:
            write_tool(tmp_path, tool, does)
    if absent == "checkout":
        write_tool(tmp_path, "git", "exit 128")
    if absent == "cache":
        (tmp_path / "cache").touch()
    done = subprocess.run(
        ENGINE, cwd=ROOT, env={"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("deploy/rehearse.py is skipped")
    assert absent in done.stdout
    assert "password" not in done.stdout


@pytest.mark.skipif(
    os.geteuid() != 0
    or None in map(shutil.which, ENGINE_TOOLS)
    or subprocess.run(NAMESPACES, capture_output=True, check=False).returncode > 0,
    reason="no namespaces of its own, or no tools for them",
)
def test_a_rehearsal_that_is_killed_leaves_no_process_and_no_folder(
    tmp_path: Path, until: Callable[..., None]
):
    write_tool(tmp_path, "apt-get", "exec sleep 3600")
    write_tool(tmp_path, "git", ENGINE_TOOLS["git"])
    kept = tmp_path / "cache" / "pramana-compose"
    path = f"{tmp_path}:{os.environ['PATH']}"

    def sleeps() -> bool:
        return any(
            one.info["name"] == "sleep" and str(one.info["cwd"]).startswith(str(kept))
            for one in psutil.process_iter(["name", "cwd"])
        )

    for how, left in ((signal.SIGKILL, 1), (signal.SIGTERM, 0), (signal.SIGHUP, 0)):
        with subprocess.Popen(
            ENGINE, cwd=ROOT, env={"PATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        ) as engine:
            until(sleeps)
            engine.send_signal(how)
        assert engine.returncode == (-how if how == signal.SIGKILL else 128 + how)
        until(lambda: not sleeps())
        assert len(list(kept.iterdir())) == left, "the next rehearsal removes what is left"
