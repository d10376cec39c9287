"""`make compose`: the containers of this folder rehearsed from nothing, in an engine of their own.

As root on Debian with mmdebstrap it makes an engine's file system from packages, enters it with its
own mounts and network, and builds from a clone under umask 077. It asks no container registry.
Nothing of the machine changes but `.cache/compose`, where packages and images are kept.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

HERE = Path(__file__).resolve().parent.parent
KEPT = HERE / ".cache" / "compose"
SUITE = "trixie"  # whose engine and Compose are 26, as docker-compose.yml needs
PACKAGES = {
    "root": "python3,ca-certificates,docker.io,docker-cli,docker-compose,docker-buildx,iptables,"
    "openssl,procps,python3-venv",
    "base.tar": "python3,python3-venv,ca-certificates",
    "services.tar": "caddy,postgresql-17",
}
ENTER = """set -e
cd root && mount --bind . . && cd "$PWD"
mount -t proc proc proc && mount --rbind /sys sys && mount --rbind /dev dev
umount sys/fs/cgroup/unified 2>/dev/null || true
mkdir -p mnt work && mount --bind .. work
pivot_root . mnt && umount -l mnt && ip link set lo up
cd /work/source && exec python3 -u deploy/rehearse.py inside"""
STAND_IN = r"""FROM debian:minimal
RUN python3 -m venv /usr/local && ln -sf python3 /usr/local/bin/python && printf '[global]\n\
no-index = true\nfind-links = http://172.17.0.1:8099/\ntrusted-host = 172.17.0.1\n' > /etc/pip.conf
"""
POSTGRES = r"""FROM caddy:2
ENV PGDATA=/var/lib/postgresql/data PATH=$PATH:/usr/lib/postgresql/17/bin
COPY --chmod=755 <<"EOF" /start
#!/bin/sh -e
as="setpriv --reuid postgres --regid postgres --clear-groups"
if [ ! -e "$PGDATA/PG_VERSION" ]; then
    install -d -o postgres -m 700 "$PGDATA"
    install -o postgres "$POSTGRES_PASSWORD_FILE" /tmp/password
    $as initdb -A scram-sha-256 -U "$POSTGRES_USER" --pwfile /tmp/password "$PGDATA"
    echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
    echo "create database $POSTGRES_DB;" | $as postgres --single -D "$PGDATA" postgres
fi
exec $as postgres -D "$PGDATA" -c listen_addresses='*'
EOF
CMD ["/start"]
"""
REACH = """import socket, sys
for place in sys.argv[1:]:
    host, _, port = place.partition(":")
    try:
        socket.create_connection((host, int(port)), 3)
    except ConnectionRefusedError:
        pass  # it is reached, though nobody listens
    except OSError:
        continue
    print(place)"""
SCHEMA = """import sqlite3, sys
rows = sqlite3.connect("/data/miner.sqlite")
print(rows.execute("select version_num from alembic_version").fetchone()[0])
rows.executemany("update alembic_version set version_num = ?", [sys.argv[1:2]])
rows.commit()"""
AGENTS = ("clinic", "laboratory", "registry")
FILES = ["docker-compose.yml"]
BEGAN = time.monotonic()


def run(*words: object, check: bool = True, **more: Any) -> str:
    """Run a program; return what it prints."""
    line = [str(word) for word in words]
    done = subprocess.run(line, text=True, check=False, stdout=subprocess.PIPE, **more)
    assert not check or done.returncode == 0, f"{' '.join(line)}: {done.returncode}"
    return done.stdout


def prepare() -> None:
    """Make the file systems, the wheels and the clone that are not there yet."""
    KEPT.mkdir(parents=True, exist_ok=True)
    debian = ("Created-By: Packages", "Origin: Debian", "Component: main")
    addresses = run("apt-get", "indextargets", "--format", "$(REPO_URI)", *debian).split()
    mirror = next(address for address in addresses if "security" not in address)
    for place, packages in PACKAGES.items():
        if not (KEPT / place).exists():
            part = KEPT / f"part-{place}"
            run("rm", "-rf", part)
            options = ("--quiet", "--variant=minbase", f"--include={packages}")
            run("mmdebstrap", *options, SUITE, part, mirror)
            part.rename(KEPT / place)
    root = KEPT / "root"
    # Its Python, on this machine's network and with this machine's settings of pip.
    (loader,) = root.glob("lib64/ld-linux-*.so.*")
    (libraries,) = root.glob("usr/lib/*-linux-gnu")
    (pip,) = root.glob("usr/share/python-wheels/pip-*.whl")
    python = (loader, "--library-path", libraries, root / "usr/bin/python3", pip / "pip")
    to = ("download", "--quiet", "--only-binary=:all:", "--dest", KEPT / "wheels")
    more = {"env": {**os.environ, "PYTHONHOME": str(root / "usr")}, "stderr": subprocess.DEVNULL}
    run(*python, *to, "--require-hashes", "-r", HERE / "requirements-runtime.lock", **more)
    run(*python, *to, "setuptools>=77", **more)
    source = KEPT / "source"
    run("rm", "-rf", source)
    source.mkdir()
    files = "git ls-files -coz --exclude-standard | tar --null -cT - --ignore-failed-read"
    clone = f"{files} | (umask 077; tar -x --no-same-permissions -C {source})"
    run("sh", "-c", clone, cwd=HERE, stderr=subprocess.DEVNULL)
    (KEPT / "revision").write_text(run("git", "-C", HERE, "rev-parse", "HEAD").strip())


def step(name: str) -> None:
    """Print what begins, after how many seconds."""
    print(f"{time.monotonic() - BEGAN:6.0f} s  {name}")


def compose(*words: object, **more: Any) -> str:
    """Run `docker compose` with the files that are rehearsed now."""
    files = [part for file in FILES for part in ("-f", file)]
    return run("docker", "compose", "--progress", "quiet", *files, *words, **more)


def miner(*words: str) -> str:
    """Run a command in the miner's container, as README.md does."""
    return compose("exec", "-T", "miner", *words)


def start(*services: str) -> None:
    """Start services, without those that they depend on."""
    compose("up", "-d", "--no-deps", *services)


def until(what: Callable[[], Any], why: str, seconds: float = 600) -> Any:
    """Wait until something is so; return it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds:g} s: {why}")


def containers(service: str) -> list[dict[str, Any]]:
    """Return what the engine knows of a service's containers."""
    found = compose("ps", "--all", "--quiet", service).split()
    return json.loads(run("docker", "inspect", *found)) if found else []


def healthy(*services: str) -> None:
    """Wait until services are well."""
    for name in services:
        states = lambda name=name: [c["State"] for c in containers(name)]  # noqa: E731
        well = lambda: all(s["Running"] and s["Health"]["Status"] == "healthy" for s in states())  # noqa: E731, B023
        until(well, f"{name} is healthy")


def kill(service: str, number: int = 0) -> None:
    """End a container as a crash would, so that its restart policy starts it again."""
    os.kill(containers(service)[number]["State"]["Pid"], signal.SIGKILL)


def ask(
    method: str, path: str, body: Any = None, *, at: HTTPConnection | None = None, **headers: str
) -> tuple[int, Any, dict[str, str]]:
    """Send a request to the miner; return status, answer and headers. No answer is status 0."""
    client = at or HTTPConnection("127.0.0.1", 8000, timeout=60)
    kind = "application/json" if isinstance(body, dict) else "application/x-www-form-urlencoded"
    sent = json.dumps(body) if isinstance(body, dict) else body
    try:
        client.request(method, path, sent, {"Content-Type": kind, **headers})
        answer = client.getresponse()
        text = answer.read().decode()
    except (OSError, HTTPException):
        return 0, {}, {}
    finally:
        client.close()
    named = {name.lower(): value for name, value in answer.getheaders()}
    return answer.status, json.loads(text) if text[:1] == "{" else text, named


def learn(token: str, *killed: tuple[str, int]) -> Any:
    """Run a job, kill containers while it runs, and return its model without its names."""
    who = {"Authorization": f"Bearer {token}"}
    spec = {"spec": {"kind": "bayes-net-structure"}}
    status, made, _ = ask("POST", "/v1/studies/demo/jobs", spec, **who)
    assert status == 202, made
    path = f"/v1/jobs/{made['id']}"
    if killed:
        until(lambda: ask("GET", path, **who)[1].get("state") == "running", f"{path} runs")
        time.sleep(1)
        assert ask("GET", path, **who)[1]["state"] == "running"
    for service, number in killed:
        kill(service, number)
    model = until(lambda: ask("GET", path, **who)[1].get("model"), f"{path} has a model")
    found = until(lambda: ask("GET", f"/v1/models/{model}", **who)[1], f"{model} is read")
    return {key: found[key] for key in ("records", "nodes", "links", "parameters", "releases")}


@contextmanager
def engine() -> Iterator[None]:
    """Run an engine, and a server of the wheels for its builds."""
    os.environ["DOCKER_HOST"] = "unix:///work/engine.sock"
    own = ("--data-root", "/work/engine", "--exec-root", "/run/engine", "-p", "/run/engine.pid")
    docker = ("dockerd", *own, "-H", os.environ["DOCKER_HOST"], "--cgroup-parent", "rehearsal")
    wheels = ("python3", "-m", "http.server", "-d", "/work/wheels", "8099")
    with Path("/work/engine.log").open("w") as log:
        started = [subprocess.Popen(words, stdout=log, stderr=log) for words in (docker, wheels)]
        try:
            until(lambda: "API listen" in Path("/work/engine.log").read_text(), "the engine is up")
            yield
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()


def build() -> None:
    """Build the images on stand-ins from packages; check their sizes, users and revision."""
    run("docker", "import", "/work/base.tar", "debian:minimal")
    run("docker", "import", "/work/services.tar", "caddy:2")
    run("docker", "build", "-qt", "python:3.13-slim", "-", input=STAND_IN)
    run("docker", "build", "-qt", "postgres:17", "-", input=POSTGRES)
    os.environ["PRAMANA_REVISION"] = revision = Path("/work/revision").read_text()
    compose("build", "-q")
    for role, program in (("owner", "owner-agent"), ("miner", "miner-service")):
        (image,) = json.loads(run("docker", "image", "inspect", f"pramana-{role}:0.1.0"))
        step(f"the {role}'s image has {image['Size'] / 1e6:.0f} MB")
        assert image["Size"] < 850e6
        assert image["Config"]["User"] == "10001:10001"
        assert image["Config"]["Labels"]["org.opencontainers.image.revision"] == revision
        assert revision in run("docker", "run", "--rm", image["Id"], program, "--version")


def publish() -> None:
    """Open the study; kill each owner, and the miner, while an owner publishes."""
    compose("down", "--volumes")
    start("miner")
    healthy("miner")
    compose("up", "--no-deps", "organizer")
    for owner in AGENTS:
        start(owner)
        busy = lambda owner=owner: "publish" in compose("top", owner, check=False)  # noqa: E731
        until(busy, f"{owner} publishes")
        kill(owner)
        if owner == "laboratory":
            kill("miner")
        healthy("miner", owner)
        assert containers(owner)[0]["RestartCount"] > 0
    shown = json.loads(miner("miner-service", "study", "show", "demo", "--json"))["releases"]
    sealed = [(owner, "sealed", 20_000) for owner in AGENTS]
    assert [(r["owner"], r["state"], r["records"]) for r in shown] == sealed, shown


def demonstrate() -> tuple[str, Any]:
    """Run the commands of README.md, and kill containers during jobs; return token and model."""
    said = compose("up", "--build", "--exit-code-from", "analyst", "analyst")
    assert "95 % intervals hold the true value" in said
    start("miner", *AGENTS)
    healthy("miner", *AGENTS)
    miner("miner-service", "study", "create", "heart", "--owners", "a,b")
    assert json.loads(miner("cat", "heart-a.invitation"))["miner"] == "http://miner:8000"
    token = miner("cat", "/admin/admin.token").strip()
    model = learn(token)
    for service in ("miner", *AGENTS):
        assert learn(token, (service, 0)) == model, service
        healthy(service)
    return token, model


def isolate() -> None:
    """Check that an owner's container reaches the miner and no other owner."""
    where = {
        name: {
            net["IPAddress"]
            for c in containers(name)
            for net in c["NetworkSettings"]["Networks"].values()
        }
        for name in ("miner", *AGENTS)
    }
    for owner in AGENTS:
        others = [
            f"{one}:{port}"
            for name in where
            if name != owner
            for one in where[name]
            for port in (8000, 8100)
        ]
        found = compose("exec", "-T", owner, "python", "-c", REACH, *others, "miner:8000").split()
        assert "miner:8000" in found
        assert {place.partition(":")[0] for place in found} <= {"miner", *where["miner"]}, (
            owner,
            found,
        )


def measure() -> None:
    """Check what health checks take; print what idle containers take."""
    ten = "for i in 1 2 3 4 5 6 7 8 9 10; do miner-service healthcheck; done; times"
    took = [one.rstrip("s").split("m") for one in miner("sh", "-ec", ten).split()[-2:]]
    share = sum(float(minutes) * 60 + float(seconds) for minutes, seconds in took) / 10 / 30
    step(f"a health check every 30 s takes {share:.2%} of a core")
    assert share < 0.01
    file = "/sys/fs/cgroup/cpuacct/rehearsal/{}/cpuacct.usage"
    meters = {name: Path(file.format(containers(name)[0]["Id"])) for name in ("miner", *AGENTS)}
    if meters["miner"].exists():
        before = {name: int(meter.read_text()) for name, meter in meters.items()}
        time.sleep(60)
        for name, meter in meters.items():
            step(f"{name} idle: {(int(meter.read_text()) - before[name]) / 60e7:.2f} % of a core")


def restore(token: str, model: Any) -> None:
    """Stop, back up, destroy and restore; tables of another schema are refused with a sentence."""
    compose("stop")
    assert {containers(name)[0]["State"]["ExitCode"] for name in ("miner", *AGENTS)} == {0}
    start("miner")
    healthy("miner")
    miner("miner-service", "backup", "/work/backup")
    compose("cp", "miner:/work/backup", "/work/backup")
    compose("rm", "-sf", "miner")
    run("docker", "volume", "rm", "pramana_miner")
    once = ("run", "--rm", "--no-deps", "-T", "miner")
    compose(*once, "miner-service", "restore", "/work/backup")
    known = compose(*once, "python", "-c", SCHEMA, "0000").strip()
    refused = subprocess.run(
        ["docker", "compose", *once], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 4, refused
    assert "error (" in refused.stderr, refused
    compose(*once, "python", "-c", SCHEMA, known)
    start("miner")
    healthy("miner")
    assert learn(token) == model


def count_on_cluster(token: str, model: Any) -> None:
    """Count on a cluster, whose containers are killed in turn."""
    FILES[1:] = ["deploy/compose.cluster.yml"]
    start("miner", "scheduler")
    healthy("miner")
    start("counter")
    for killed in ((), (("scheduler", 0),), (("counter", 0),), (("counter", 1),)):
        assert learn(token, *killed) == model, killed
    compose("rm", "-sf", "scheduler", "counter")


def stand_behind_proxy(token: str) -> None:
    """Sign in through the proxy: the cookie is Secure, and every address has the prefix."""
    FILES[1:] = ["deploy/compose.proxy.yml"]
    files = ("deploy/proxy.key", "deploy/proxy.pem")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", files[0])
    name = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out", files[1])
    run("openssl", "req", "-x509", *key, *name, stderr=subprocess.DEVNULL)
    run("chown", "10001", *files)
    start("miner", "proxy")
    healthy("miner")
    tls = ssl.create_default_context(cafile=files[1])
    over = lambda: HTTPSConnection("localhost", 8443, context=tls, timeout=60)  # noqa: E731
    until(lambda: ask("GET", "/pramana/readyz", at=over())[0] == 200, "the proxy answers")
    assert ask("GET", "/readyz")[0] == 0  # the miner's own port is closed
    _, page, headers = ask("GET", "/pramana/pages/sign-in", at=over())
    cookie, _, flags = headers["set-cookie"].partition(";")
    assert "; Secure" in flags
    (word,) = re.findall(r'name="word" value="(\w+)"', page)
    form = urlencode({"word": word, "token": token})
    status, _, headers = ask("POST", "/pramana/pages/sign-in", form, at=over(), Cookie=cookie)
    assert (status, headers["location"]) == (303, "studies"), headers
    miner("miner-service", "study", "invite", "heart", "c")
    invited = json.loads(miner("cat", "heart-c.invitation"))
    assert invited["miner"] == "https://localhost:8443/pramana"
    compose("down")


def keep_in_postgresql(token: str, model: Any) -> None:
    """Restore into a PostgreSQL with two workers, and kill each container during a job."""
    FILES[:] = ["deploy/compose.postgres.yml"]
    Path("deploy/database.password").write_text("p %@:/'\"\\ w\n")
    run("chown", "-R", "10001", "deploy/database.password", "/work/backup")
    compose("down", "--volumes")
    compose("up", "-d", "database")
    healthy("database")
    once = ("run", "--rm", "--no-deps", "-T", "-v", "/work/backup:/backup:ro", "miner")
    compose(*once, "miner-service", "restore", "/backup")
    compose("up", "-d", "--scale", "worker=2")
    healthy("miner")
    for killed in ((), (("worker", 0), ("worker", 1)), (("database", 0),), (("miner", 0),)):
        assert learn(token, *killed) == model, killed
        healthy("miner", "database")
    compose("stop")
    ended = [c["State"]["ExitCode"] for name in ("miner", "worker") for c in containers(name)]
    assert ended == [0, 0, 0]
    compose("down", "--volumes")


def rehearse() -> None:
    """Do all of it, in an engine of its own."""
    with engine():
        step("build from a clone under umask 077")
        build()
        step("publish, while containers are killed")
        publish()
        step("demonstration and jobs, while containers are killed")
        token, model = demonstrate()
        step("an owner's network, health checks")
        isolate()
        measure()
        for part in (restore, count_on_cluster):
            step(part.__name__.replace("_", " "))
            part(token, model)
        step("stand behind proxy")
        stand_behind_proxy(token)
        step("keep in postgresql")
        keep_in_postgresql(token, model)


def main() -> None:
    """Prepare on this machine, then rehearse inside."""
    tools = ("mmdebstrap", "unshare", "pivot_root", "git")
    absent = [tool for tool in tools if shutil.which(tool) is None]
    if sys.argv[1:] == ["inside"]:
        rehearse()
    elif os.geteuid() != 0 or absent:
        why = f"these are not installed: {', '.join(absent)}" if absent else "it needs root"
        print(f"make compose is skipped: {why}.")
    else:
        prepare()
        step("packages, wheels and clone are there")
        own = ("unshare", "-n", "-m", "--propagation", "private", "sh", "-c", ENTER)
        ended = subprocess.run(own, cwd=KEPT, check=False).returncode
        for folder in Path("/sys/fs/cgroup").glob("**/rehearsal"):
            run("find", folder, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";", check=False)
        step("failed" if ended else "done")
        sys.exit(ended)


if __name__ == "__main__":
    main()
