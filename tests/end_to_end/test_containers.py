"""docker-compose.yml, its commands run as plain processes: only addresses and folders differ."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

pytestmark = pytest.mark.end_to_end

ROOT = Path(__file__).resolve().parents[2]
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
AGENTS = ("clinic", "laboratory", "registry")


@contextmanager
def running(
    command: list[str], health: str, until: Callable[..., None], **environment: str
) -> Iterator[None]:
    """Run a long-lived container's command until its health check's address answers."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(command, env={**os.environ, "PATH": path, **environment})
    try:
        until(lambda: answers(health), process)
        yield
    finally:
        process.terminate()
        process.wait()


def answers(health: str) -> bool:
    """Whether a service says that it is well."""
    try:
        return httpx.get(health).is_success
    except httpx.TransportError:
        return False


def test_the_compose_file_is_the_demonstration(tmp_path: Path, until, free_port):
    ports = {name: free_port() for name in ("miner", *AGENTS)}
    places = {f"/{name}": str(tmp_path / name) for name in ("data", "handover", "sites")}
    for place in places.values():
        Path(place).mkdir(mode=0o700)
    places["/deploy"] = str(ROOT / "deploy")

    def words(service: str) -> list[str]:
        text = SERVICES[service]["command"]
        text = text.replace("--host 0.0.0.0 --allow-remote --port 8000", f"--port {ports['miner']}")
        for name, port in ports.items():
            inside = 8000 if name == "miner" else 8100
            text = text.replace(f"http://{name}:{inside}", f"http://127.0.0.1:{port}")
        split = shlex.split(text)
        for inside, outside in places.items():
            split = [outside + w[len(inside) :] if w.startswith(inside) else w for w in split]
        return split

    def to_its_end(service: str) -> subprocess.CompletedProcess[str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            words(service),
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done

    def start(owner: str) -> AbstractContextManager[None]:
        return running(
            words(owner),
            f"http://127.0.0.1:{ports[owner]}/healthz",
            until,
            PRAMANA_SITES=places["/sites"],
            PRAMANA_HOST="127.0.0.1",
            PRAMANA_PORT=str(ports[owner]),
        )

    with running(words("miner"), f"http://127.0.0.1:{ports['miner']}/readyz", until):
        to_its_end("organizer")
        to_its_end("organizer")  # containers may start again
        with start("clinic"), start("laboratory"), start("registry"):
            said = to_its_end("analyst").stdout
    assert "95 % intervals hold the true value" in said
    result = json.loads((tmp_path / "sites" / "result.json").read_text())
    assert result["records"] == 20_000
    assert (tmp_path / "sites" / "report.html").stat().st_size > 10_000


def test_every_container_drops_what_it_does_not_need():
    for name, service in SERVICES.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        published = service.get("ports", [])
        assert all(p.startswith("127.0.0.1:") for p in published), name
