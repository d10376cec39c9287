"""`make compose`: test the containers of this folder from nothing, in a separate engine.

`deploy/engine.py` runs this script. The script builds the images on substitutes for registry
images, kills containers while owners publish and while jobs run, and compares the models with those
of an undisturbed run.
"""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, HTTPSHandler, Request, build_opener, urlopen

from engine import LIMIT, run, step, until

REACHED = """import socket, sys
socket.setdefaulttimeout(60)  # 111: it is reached, though nobody listens
print(*(a for a in sys.argv[1:] if socket.socket().connect_ex((a, 8100)) in (0, 111)))"""
OTHER_SCHEMA = """import sqlite3
with sqlite3.connect("/data/miner.sqlite") as database:
    database.execute("update alembic_version set version_num = 0")"""
ANONYMOUS = """cat /proc/[0-9]*/smaps_rollup 2>/dev/null |
awk '/^Pss_Anon/ {n += $2} END {print int(n / 1024)}'"""
REMOTE = """echo "$INVITATION" > invitation
python - <<'END'
import ssl
from urllib.request import Request, urlopen
with open("table.csv", "w") as file:
    print("id,x", *(f"{i},{i % 2}" for i in range(100_000)), sep="\\n", file=file)
forged = Request("https://proxy:8443/pramana/healthz", headers={"X-Forwarded-For": "203.0.113.9"})
urlopen(forged, context=ssl.create_default_context(cafile="/ca.pem")).close()
END
cat > site.toml <<'END'
owner = "a"
table = "table.csv"
record_id = "id"
miner = { url = "https://proxy:8443/pramana", study = "remote", ca_file = "/ca.pem" }
variables = [{ name = "x", categories = ["0", "1"], sensitive = false }]
END
owner-agent join invitation --new-linkage linkage.key --yes
publish="owner-agent publish --yes --no-report --part-records 1000"
$publish || $publish"""
ADDRESSES = "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"
AGENTS = ("clinic", "laboratory", "registry")
FILES = ["docker-compose.yml"]
PROXY = "https://localhost:8443/pramana"


def compose(*words: object, **more: Any) -> str:
    files = [part for file in FILES for part in ("-f", file)]
    return run("docker", "compose", "--progress", "quiet", *files, *words, **more)


def miner(*words: str) -> str:
    return compose("exec", "-T", "miner", *words)


def state(service: str, what: str) -> str:
    """Return a property of a service's container; `service` may end with the container's number."""
    project = "pramana-postgres" if "postgres" in FILES[0] else "pramana"
    name = f"{project}-{service}" if service[-1].isdigit() else f"{project}-{service}-1"
    return run("docker", "inspect", "-f", what, name, check=False, stderr=subprocess.DEVNULL)


def well(*services: str) -> None:
    now = "{{.State.Running}} {{.State.Health.Status}}"
    for name in services:
        until(lambda: state(name, now) == "true healthy\n", f"{name} is healthy")  # noqa: B023


def start(*services: str) -> None:
    """Start services without their dependencies, and wait until they are healthy."""
    compose("up", "-d", "--no-deps", *services)
    well(*(name for name in services if name in ("miner", "database", *AGENTS)))


def kill(service: str) -> None:
    """Kill a container as a crash would, so that its restart policy starts it again."""
    process = until(lambda: int(state(service, "{{.State.Pid}}") or 0), f"{service} runs")
    os.kill(process, signal.SIGKILL)


def ask(path: str, token: str, body: Any = None) -> dict[str, Any]:
    """Send a request to the miner. Return its answer, or {} if it is to be sent again."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    sent = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(f"http://127.0.0.1:8000{path}", sent, headers), timeout=60) as answer:
            return dict(json.load(answer))
    except HTTPError as error:
        if error.code != 429 and error.code < 500:
            raise AssertionError(f"{path}: {error.read()!r}") from error
    except (OSError, HTTPException):
        pass
    return {}


def new_job(token: str) -> str:
    """Create a job and return its path."""
    job = {"spec": {"kind": "bayes-net-structure"}, "key": f"rehearsal-{time.monotonic_ns()}"}
    made = until(lambda: ask("/v1/studies/demo/jobs", token, job), "a job is accepted")
    return f"/v1/jobs/{made['id']}"


def learn(token: str, *killed: str) -> Any:
    """Run a job, kill containers while it runs, and return the parts of its model that must not
    vary.
    """

    def began() -> str:
        now = str(ask(path, token).get("state", "queued"))
        return "" if now == "queued" else now

    path = new_job(token)
    while killed and until(began, f"{path} begins") == "succeeded":
        path = new_job(token)  # the former ended before it was seen
    for service in killed:
        kill(service)
    job = until(lambda: (job := ask(path, token)).get("finished") and job, f"{path} ends")
    assert job["state"] == "succeeded", job
    found = until(lambda: ask(f"/v1/models/{job['model']}", token), "the model is read")
    return {key: found[key] for key in ("records", "nodes", "links", "parameters", "releases")}


def stand_in(target: str, image: str) -> None:
    """Build an image that a registry would give."""
    file = ("-f", "deploy/stand-ins.Dockerfile", "--target", target)
    run("docker", "build", "-qt", image, *file, "/debs")


def build() -> None:
    """Build the images, and check their sizes, users and revision."""
    step("build from a clone under umask 077")
    run("docker", "import", "/python.tar", "debian:minimal")
    stand_in("python", "python:3.13-slim")
    revision = os.environ["PRAMANA_REVISION"]
    compose("build", "-q")
    for role, program in (("owner", "owner-agent"), ("miner", "miner-service")):
        (image,) = json.loads(run("docker", "image", "inspect", f"pramana-{role}:0.1.0"))
        step(f"the {role}'s image has {image['Size'] / 1e6:.0f} MB")
        assert image["Size"] < 850e6
        assert image["Config"]["User"] == "10001:10001"
        assert image["Config"]["Labels"]["org.opencontainers.image.revision"] == revision
        assert revision in run("docker", "run", "--rm", image["Id"], program, "--version")


def kill_in_publication(owner: str, *others: str) -> None:
    """Kill an owner, and others, while it publishes."""
    top = ("docker", "top", f"pramana-{owner}-1")
    at = re.compile(" (publish|serve) --")

    def publishes() -> bool:
        seen = at.search(run(*top, check=False))
        if seen and seen[1] == "serve":
            kill(owner)  # it had published before it was seen, and will again
        return seen is not None and seen[1] == "publish"

    until(publishes, f"{owner} publishes")
    for killed in (owner, *others):
        kill(killed)
    well(owner, *others)
    assert int(state(owner, "{{.RestartCount}}")) > 0


def publish() -> None:
    """Open the study. While each owner publishes, kill the owner, and once also the miner."""
    step("publish")
    start("miner")
    compose("up", "--no-deps", "organizer")
    compose("up", "-d", "--no-deps", "clinic")
    kill_in_publication("clinic")
    compose("up", "-d", "--no-deps", "laboratory", "registry")
    with ThreadPoolExecutor() as pool:
        laboratory = pool.submit(kill_in_publication, "laboratory", "miner")
        pool.submit(kill_in_publication, "registry").result()
        laboratory.result()
    shown = json.loads(miner("miner-service", "study", "show", "demo", "--json"))["releases"]
    sealed = [(owner, "sealed", 20_000) for owner in AGENTS]
    assert sorted((r["owner"], r["state"], r["records"]) for r in shown) == sealed, shown


def demonstrate() -> tuple[str, Any]:
    """Run the commands of README.md, and kill containers during jobs. Return a token and the
    model.
    """
    step("demonstrate")
    compose("up", "--build", "--exit-code-from", "analyst", "analyst")
    compose("cp", "analyst:/results/result.json", "/files/")
    assert json.loads(Path("/files/result.json").read_text())["records"] == 20_000
    start("miner", *AGENTS)
    miner("miner-service", "study", "create", "heart", "--owners", "a,b")
    assert json.loads(miner("cat", "heart-a.invitation"))["miner"] == "http://miner:8000"
    token = miner("cat", "/admin/admin.token").strip()
    model = learn(token)
    for killed in (("miner",), AGENTS):
        assert learn(token, *killed) == model, killed
        well(*killed)
    return token, model


def look() -> None:
    """Check which hosts an owner's container reaches, and the cost of health checks and of idle
    time.
    """
    step("look at networks and health checks")
    where = {name: state(name, ADDRESSES).split() for name in AGENTS}
    for owner in AGENTS:
        others = [place for name in AGENTS if name != owner for place in where[name]]
        tried = ("python", "-c", REACHED, *others, *where[owner], "miner")
        assert compose("exec", "-T", owner, *tried).split() == [*where[owner], "miner"], owner
    ten = "for i in 1 2 3 4 5 6 7 8 9 10; do miner-service healthcheck; done; times"
    took = [one.rstrip("s").split("m") for one in miner("sh", "-ec", ten).split()[-2:]]
    share = sum(float(minutes) * 60 + float(seconds) for minutes, seconds in took) / 10 / 30
    step(f"a health check every 30 s takes {share:.2%} of a core")
    assert share < 0.01
    at = f"/sys/fs/cgroup/cpuacct/{os.environ['REHEARSAL']}/{{{{.Id}}}}/cpuacct.usage"
    meters = {name: Path(state(name, at).strip()) for name in ("miner", *AGENTS)}
    before = {name: int(meter.read_text()) for name, meter in meters.items() if meter.exists()}
    began = time.monotonic()
    stand_in("services", "caddy:2")
    stand_in("postgres", "postgres:17")
    time.sleep(max(0, began + 30 - time.monotonic()))  # each has had a health check
    for name, used in before.items():
        share = (int(meters[name].read_text()) - used) / 1e9 / (time.monotonic() - began)
        step(f"{name} idle: {share:.2%} of a core")


def restore(token: str, model: Any) -> None:
    """Stop and back up the miner, check that another schema is rejected, and restore the backup."""
    compose("stop", "--timeout", LIMIT)
    assert {state(name, "{{.State.ExitCode}}") for name in ("miner", *AGENTS)} == {"0\n"}
    start("miner")
    miner("miner-service", "backup", "/files/backup")
    compose("cp", "miner:/files/backup", "/files/")
    compose("rm", "-sf", "miner")
    once = ("run", "--rm", "--no-deps", "-T", "miner")
    compose(*once, "python", "-c", OTHER_SCHEMA)
    words = ("docker", "compose", *once)
    refused = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (refused.returncode, "error (" in refused.stderr) == (4, True), refused
    run("docker", "volume", "rm", "pramana_miner")
    compose(*once, "miner-service", "restore", "/files/backup")
    start("miner")
    assert learn(token) == model


def exhaust_memory(token: str, model: Any) -> None:
    """Leave 16 of 384 MB to a job: the kernel must end the job's process but not the service."""
    run("docker", "update", "-m", "384m", "--memory-swap", "384m", "pramana-miner-1")
    assert learn(token) == model
    service = state("miner", "{{.State.Pid}}")
    used = int(miner("sh", "-c", ANONYMOUS))
    step(f"a miner without jobs has {used} MB of memory of its own")
    miner("sh", "-c", f"head -c {384 - used - 16}M /dev/zero > /tmp/ballast")
    path = new_job(token)
    until(lambda: ask("/readyz", token) and ask(path, token).get("finished"), path)
    job = ask(path, token)
    assert job["state"] == "failed", job
    assert job["problem"]["code"] == "worker-lost", job
    assert sum("ended with status -9" in line["line"] for line in job["log"]) == 3, job
    miner("rm", "/tmp/ballast")
    assert learn(token) == model
    assert state("miner", "{{.State.Pid}}") == service


def count_on_cluster(token: str, model: Any) -> None:
    """Count on a cluster while its containers are killed one after another."""
    FILES[1:] = ["deploy/compose.cluster.yml"]
    start("miner", "scheduler")
    start("counter")
    for killed in ((), ("scheduler",), ("counter-1",), ("counter-2",)):
        assert learn(token, *killed) == model, killed
    compose("rm", "-sf", "scheduler", "counter")


def stand_behind_proxy(token: str, _model: Any) -> None:
    """Sign in through the proxy: the cookie must be Secure, and every address have the prefix.

    An owner elsewhere publishes through the proxy, which is killed meanwhile.
    """
    FILES[1:] = ["deploy/compose.proxy.yml"]
    files = ("deploy/proxy.key", "deploy/proxy.pem")
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", files[0])
    names = "subjectAltName=DNS:localhost,DNS:proxy"
    name = ("-subj", "/CN=localhost", "-addext", names, "-out", files[1])
    run("openssl", "req", "-x509", *new, *name, stderr=subprocess.DEVNULL)
    run("chown", "10001", *files)
    start("miner", "proxy")
    tls = HTTPSHandler(context=ssl.create_default_context(cafile=files[1]))
    browser = build_opener(tls, jar := HTTPCookieProcessor())

    def sign_in() -> Any:
        with suppress(OSError):
            return browser.open(f"{PROXY}/pages/sign-in")

    page = until(sign_in, "the proxy answers").read().decode()
    (word,) = re.findall(r'name="word" value="(\w+)"', page)
    form = urlencode({"word": word, "token": token}).encode()
    assert browser.open(f"{PROXY}/pages/sign-in", form).url == f"{PROXY}/pages/studies"
    assert {cookie.secure for cookie in jar.cookiejar} == {True}
    assert not ask("/readyz", token)  # the miner's own port is closed
    miner("miner-service", "study", "invite", "heart", "c")
    assert json.loads(miner("cat", "heart-c.invitation"))["miner"] == PROXY
    url = PROXY.replace("localhost", "proxy")
    miner("miner-service", "study", "create", "remote", "--owners", "a", "--url", url)
    invitation = f"INVITATION={miner('cat', 'remote-a.invitation')}"
    seen = ("--network", "pramana_outside", "-v", f"{Path(files[1]).resolve()}:/ca.pem:ro")
    options = ("--name", "pramana-remote-1", *seen, "-e", invitation, "pramana-owner:0.1.0")
    run("docker", "run", "-d", *options, "sh", "-ec", REMOTE)
    (address,) = state("remote", ADDRESSES).split()
    until(lambda: "route=put_part" in compose("logs", "miner"), "parts arrive")
    kill("proxy")
    assert state("remote", "{{.State.Running}}") == "true\n"
    assert run("docker", "wait", "pramana-remote-1") == "0\n"
    assert state("proxy", "{{.RestartCount}}") == "1\n"
    (release,) = json.loads(miner("miner-service", "study", "show", "remote", "--json"))["releases"]
    assert (release["state"], release["records"]) == ("sealed", 100_000)
    lines = re.findall(r"route=(read_health|put_part) .*address=(\S+)", compose("logs", "miner"))
    assert set(lines) == {("read_health", address), ("put_part", address)}, (address, set(lines))
    assert browser.open(f"{PROXY}/pages/studies").url == f"{PROXY}/pages/studies"
    run("docker", "rm", "pramana-remote-1")
    compose("down")


def keep_in_postgresql(token: str, model: Any) -> None:
    """Restore into PostgreSQL with two workers, and kill each container during a job."""
    FILES[:] = ["deploy/compose.postgres.yml"]
    Path("deploy/database.password").write_text("p %@:/'\"\\ w\n")
    run("chown", "-R", "10001", "deploy/database.password", "/files/backup")
    compose("down", "--volumes")
    start("database")
    once = ("run", "--rm", "--no-deps", "-T", "-v", "/files/backup:/backup:ro", "miner")
    compose(*once, "miner-service", "restore", "/backup")
    compose("up", "-d", "--scale", "worker=2")
    well("miner")
    for killed in ((), ("worker-1", "worker-2"), ("database",), ("miner",)):
        assert learn(token, *killed) == model, killed
        well("miner", "database")
    compose("stop", "--timeout", LIMIT)
    ended = {state(name, "{{.State.ExitCode}}") for name in ("miner", "worker-1", "worker-2")}
    assert ended == {"0\n"}
    compose("down", "--volumes")


def main() -> None:
    """Run all parts of the test."""
    build()
    publish()
    token, model = demonstrate()
    look()
    for part in (restore, exhaust_memory, count_on_cluster, stand_behind_proxy, keep_in_postgresql):
        step(part.__name__.replace("_", " "))
        part(token, model)
    step("all of it is done")


if __name__ == "__main__":
    main()
