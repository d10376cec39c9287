"""Run a Python script next to its own container engine, made from Debian packages.

Needs Debian and root. The engine gets a new file system, and its own mounts, network and processes.
The last commit is cloned under umask 077. No container registry is used. Packages stay in
`~/.cache/pramana-compose`. All processes end with this one; the next run removes what a killed run
leaves there.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

HERE = Path(__file__).resolve().parent.parent
KEPT = (
    Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().resolve() / "pramana-compose"
)
SUITE = "trixie"  # whose engine and Compose are 26, as docker-compose.yml needs
PYTHON = "python3,python3-venv,ca-certificates"
SERVICES = "caddy postgresql-17"
ENGINE = "docker.io docker-cli docker-compose docker-buildx iproute2 iptables openssl procps"
INSTALL = (
    'chroot "$1" apt-get install -y --no-install-recommends -o DPkg::Options::=--force-unsafe-io'
)
QUIET = ">/dev/null 2>&1"
MAKE_ROOT = (  # the base of all images, packages of the others, and what the engine needs
    'tar -C "$1" --one-file-system --exclude="./var/*/apt/*" -cf "$1/../python.tar" .',
    'mkdir -p "$1/debs/partial" "$1/files" "$1/kept"; mv "$1/../python.tar" "$1"',
    f"{INSTALL} --download-only -o Dir::Cache::Archives=/debs {SERVICES} {QUIET}",
    f"{INSTALL} {ENGINE} {QUIET}",
)
ROOT = KEPT / f"root-{zlib.crc32(repr((SUITE, PYTHON, MAKE_ROOT)).encode()):08x}"
# In memory, where it suffices, the engine's files are made and removed several times as fast.
ENTER = """set -e
run=$PWD && cd "$ROOT" && mount --bind . . && cd "$PWD"
mount -t proc proc proc && mount --rbind /sys sys && mount --rbind /dev dev
mount -t tmpfs run run && mount -t tmpfs tmp tmp
umount sys/fs/cgroup/unified 2>/dev/null || true
mkdir "$run/engine" && mount --bind "$run" files && mount --bind .. kept
[ "$(awk '/MemAvailable/ {print $2}' proc/meminfo)" -lt 8000000 ] ||
    mount -t tmpfs -o size=6g engine files/engine
mount -o remount,bind,ro . && pivot_root . mnt && umount -l mnt && ip link set lo up
cd /files/source && exec python3 -u deploy/engine.py inside "$0\""""
DOCKERD = "dockerd --data-root /files/engine --exec-root /run/engine --cgroup-parent"
WHEELS = "python3 -m http.server -d /kept/wheels 8099"
OWN = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "-mpf", "--mount-proc", "--kill-child", "--propagation", "private"),
)
BEGAN = float(os.environ.setdefault("REHEARSAL_BEGAN", str(time.monotonic())))
REFUSED = re.compile("not permitted|denied|not supported|o such device|cgroup|iptables")
LIMIT = 3600  # seconds for anything: it ends what hangs, and no slow machine needs it
SKIPPED = 75
NEEDED = ("apt-get", "dpkg", "git", "perl", "setpriv", "unshare")


def run(*words: object, check: bool = True, timeout: int = LIMIT, **more: Any) -> str:
    """Run a program and return its output. Raises AssertionError, without the program's options."""
    line, name = [str(word) for word in words], Path(str(words[0])).name
    more["stdout"] = subprocess.PIPE
    try:
        done = subprocess.run(line, text=True, check=False, timeout=timeout, **more)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{name} does not end within {timeout} s") from None
    assert not check or done.returncode == 0, f"{name} ends with {done.returncode}"
    return str(done.stdout or "")


def works(*words: object, **more: Any) -> bool:
    """Whether a small command succeeds within five minutes."""
    with suppress(AssertionError):
        run(*words, stderr=subprocess.DEVNULL, timeout=300, **more)
        return True
    return False


def until(what: Callable[[], Any], why: str) -> Any:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.2)  # each look starts a program
    raise AssertionError(f"not within {LIMIT} s: {why}")


def step(name: str) -> None:
    """Print what begins or ends, after the time."""
    print(f"{time.monotonic() - BEGAN:6.0f} s  {name}")


def skip(reason: str) -> NoReturn:
    *stage, script = sys.argv[1:]
    print(f"{script} is skipped, because {reason}.")
    sys.exit(SKIPPED if stage else 0)


def make_root() -> None:
    """Make the engine's file system, by a mmdebstrap that is not installed."""
    (place := Path.cwd()).joinpath("lists/partial").mkdir(parents=True)
    own = (f"Dir::State::Lists={place}/lists", f"Dir::Cache={place}", "APT::Sandbox::User=root")
    apt = ("apt-get", "-qq", *(word for option in own for word in ("-o", option)))
    works(*apt, "update")
    debian = ("Created-By: Packages", "Origin: Debian", "Component: main")
    addresses = run(*apt, "indextargets", "--format", "$(REPO_URI)", *debian).split()
    mirror = next((address for address in addresses if "security" not in address), "")
    small = ("download-file", f"{mirror}dists/{SUITE}/Release", "found")
    if not mirror or not works("/usr/lib/apt/apt-helper", *small):
        skip("no Debian mirror in the sources of apt answers")
    run(*apt, "download", "mmdebstrap")
    run("dpkg", "-x", *place.glob("mmdebstrap_*.deb"), "tool")
    how = ("--quiet", "--variant=minbase", f"--include={PYTHON}", '--aptopt=Acquire::Retries "3"')
    hooks = (f"--customize-hook={hook}" for hook in MAKE_ROOT)
    run("tool/usr/bin/mmdebstrap", *how, *hooks, SUITE, "root", mirror)
    if list(KEPT.glob("rehearsal-*/")) == [place]:  # nobody else runs, on an older one
        for old in KEPT.glob("root*"):
            shutil.rmtree(old)
    Path("root").rename(ROOT)


def prepare() -> None:
    """Create the file system, download the wheels, and clone the last commit."""
    if shutil.disk_usage(KEPT).free < 4e9:
        skip("the cache's folder has less than 4 GB of room")
    if not ROOT.exists():
        make_root()
    step("the engine's file system is there")
    # The engine's Python, on this machine's network and with this machine's settings of pip.
    (loader,) = ROOT.glob("lib64/ld-linux-*.so.*")
    (libraries,) = ROOT.glob("usr/lib/*-linux-gnu")
    (pip,) = ROOT.glob("usr/share/python-wheels/pip-*.whl")
    python = (loader, "--library-path", libraries, ROOT / "usr/bin/python3", pip / "pip")
    get = (*python, "download", "-qq", "--only-binary=:all:", "--dest", KEPT / "wheels")
    own = {**os.environ, "PYTHONHOME": str(ROOT / "usr")}
    if not works(*get, "setuptools>=77", env=own):
        skip("no package index answers")
    locked = ("--require-hashes", "-r", HERE / "requirements-runtime.lock")
    run(*get, *locked, env=own)
    run("git", "clone", "-q", HERE, "source", umask=0o077)
    step("wheels and clone are there")


def serve() -> None:
    """Start the engine, and a server of wheels for its builds. Both end with this process."""
    dockerd = f"{DOCKERD} {os.environ['REHEARSAL']}"
    with (log := Path("/files/engine.log")).open("w") as file:
        both = [
            subprocess.Popen(line.split(), stdout=file, stderr=file) for line in (dockerd, WHEELS)
        ]

    def listens() -> bool:
        words = log.read_text()
        if any(one.poll() is not None for one in both):
            last = (words.splitlines() or ["no line in its log"])[-1]
            if REFUSED.search(last):
                skip(f"the kernel refuses what the engine needs: {last}")
            raise AssertionError(f"the engine does not start: {last}")
        return "API listen" in words

    until(listens, "the engine listens")


def clean(folder: Path) -> None:
    """Remove a run's folder and control groups, once the last process has left them."""
    for _ in range(1800):
        shutil.rmtree(folder, ignore_errors=True)
        everywhere = os.walk("/sys/fs/cgroup", topdown=False)
        groups = [place for place, *_ in everywhere if folder.name in place]
        for group in groups:
            with suppress(OSError):
                Path(group).rmdir()
        if not groups and not folder.exists():
            return
        time.sleep(0.1)
    print(f"{folder} cannot be removed")


def hold(place: Path, how: int = fcntl.LOCK_EX) -> int:
    """Return a lock on a folder, which ends with this process. Raises BlockingIOError."""
    fcntl.flock(lock := os.open(place, os.O_RDONLY), how)
    return lock


def rehearse(script: str, revision: str) -> int:
    """Prepare, and run the script inside; return its status."""
    try:
        KEPT.mkdir(parents=True, exist_ok=True)
        preparing = hold(KEPT)  # another clone may prepare the same
        hold(folder := Path(tempfile.mkdtemp(prefix="rehearsal-", dir=KEPT)))
    except OSError as error:
        skip(f"the cache's folder is not writable: {error.strerror}")
    for old in KEPT.glob("rehearsal-*/"):  # of a process that was killed
        with suppress(BlockingIOError):
            hold(old, fcntl.LOCK_EX | fcntl.LOCK_NB)
            clean(old)

    def own(*words: str, **environment: str) -> int:
        line, env = (*OWN, *words, script), {"REHEARSAL_BEGAN": str(BEGAN), **environment}
        return subprocess.run(
            line, cwd=folder, stdin=subprocess.DEVNULL, env=env, check=False
        ).returncode

    try:
        here = {
            **os.environ,
            "TMPDIR": str(folder),
            "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
        }
        ended = own(sys.executable, "-u", __file__, "prepare", **here)
        os.close(preparing)
        if ended == 0:
            there = {
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/run", "ROOT": str(ROOT),
                "PRAMANA_REVISION": revision, "REHEARSAL": folder.name,
            }  # fmt: skip
            ended = own("-n", "sh", "-c", ENTER, **there)
    finally:
        clean(folder)
    return ended


def main() -> None:
    """Prepare the engine on this machine, then run the script inside it."""
    *stage, script = sys.argv[1:]
    if stage == ["prepare"]:
        prepare()
        return
    if stage == ["inside"]:
        serve()
        sys.exit(subprocess.run([sys.executable, "-u", script], check=False).returncode)
    if absent := [tool for tool in NEEDED if shutil.which(tool) is None]:
        skip(f"this machine lacks {', '.join(absent)}")
    if os.geteuid() != 0 or not works(*OWN, "-n", "true"):
        skip("it needs root with the right to create namespaces")
    revision = run("git", "ls-remote", HERE, "HEAD", check=False, stderr=subprocess.DEVNULL)
    if not revision:
        skip("git does not read this folder as a checkout")
    for ended in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ended) == signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(ended, lambda number, _: sys.exit(128 + number))
    if (status := rehearse(script, revision.split()[0])) != SKIPPED:
        step("failed" if status else "done")
        sys.exit(status)


if __name__ == "__main__":
    main()
