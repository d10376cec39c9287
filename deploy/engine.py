"""Run a Python script next to its own container engine, made from Debian packages.

The machine must be a Debian, and the user root. The engine gets a new file system, and its own
mounts, network and processes. The last commit is cloned under umask 077. No container registry is
used. Packages stay in `~/.cache/pramana-compose`; everything else ends with this process, also if
the process is killed.
"""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
KEPT = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser().resolve() / "pramana-compose"
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
USED = "awk '{sub(/.*[)] /, \"\"); n += $12 + $13 + $14 + $15} END {print n / 100}'"
LIMIT = 3600  # seconds for anything: it ends what hangs, and no slow machine needs it
SKIPPED = 75


def run(*words: object, check: bool = True, **more: Any) -> str:
    line = [str(word) for word in words]
    done = subprocess.run(
        line, text=True, check=False, stdout=subprocess.PIPE, timeout=LIMIT, **more
    )
    assert not check or done.returncode == 0, f"{' '.join(line)}: {done.returncode}"
    return str(done.stdout or "")


def step(name: str) -> None:
    """Print what begins or ends, after the time and the processor time used until then."""
    used = float(os.environ.get("REHEARSAL_USED", 0))
    used += float(run("sh", "-c", f"{USED} /proc/[0-9]*/stat 2>/dev/null"))
    print(f"{time.monotonic() - BEGAN:6.0f} s {used:6.0f} s of processors  {name}")


def skip(reason: object) -> None:
    print(f"{sys.argv[-1]} is skipped, because {reason}")
    sys.exit(SKIPPED)


def download(*words: object, **more: Any) -> None:
    """Run a download. If it is refused, print the reason and end the program."""
    try:
        run(*words, **{"stderr": subprocess.DEVNULL, **more})
    except AssertionError as refused:
        skip(f"downloads fail: {refused}")


def make_root() -> None:
    """Make the engine's file system, by a mmdebstrap that is not installed."""
    (place := Path.cwd()).joinpath("lists/partial").mkdir(parents=True)
    own = (f"Dir::State::Lists={place}/lists", f"Dir::Cache={place}", "APT::Sandbox::User=root")
    apt = ("apt-get", "-qq", *(word for option in own for word in ("-o", option)))
    download(*apt, "update")
    debian = ("Created-By: Packages", "Origin: Debian", "Component: main")
    addresses = run(*apt, "indextargets", "--format", "$(REPO_URI)", *debian).split()
    mirror = next((address for address in addresses if "security" not in address), "")
    download("/usr/lib/apt/apt-helper", "download-file", f"{mirror}dists/{SUITE}/Release", "found")
    download(*apt, "download", "mmdebstrap")
    if shutil.disk_usage(KEPT).free < 4e9:
        skip(f"{KEPT} has less than 4 GB of room")
    run("dpkg", "-x", *place.glob("mmdebstrap_*.deb"), "tool")
    how = ("--quiet", "--variant=minbase", f"--include={PYTHON}", '--aptopt=Acquire::Retries "3"')
    hooks = (f"--customize-hook={hook}" for hook in MAKE_ROOT)
    download("tool/usr/bin/mmdebstrap", *how, *hooks, SUITE, "root", mirror, stderr=None)
    Path("root").rename(ROOT)


def prepare() -> None:
    """Create the file system, download the wheels, and clone the last commit."""
    if not ROOT.exists():
        make_root()
    step("the engine's file system is there")
    # The engine's Python, on this machine's network and with this machine's settings of pip.
    (loader,) = ROOT.glob("lib64/ld-linux-*.so.*")
    (libraries,) = ROOT.glob("usr/lib/*-linux-gnu")
    (pip,) = ROOT.glob("usr/share/python-wheels/pip-*.whl")
    python = (loader, "--library-path", libraries, ROOT / "usr/bin/python3", pip / "pip")
    get = (*python, "download", "--quiet", "--only-binary=:all:", "--dest", KEPT / "wheels")
    own = {**os.environ, "PYTHONHOME": str(ROOT / "usr")}
    download(*get, "setuptools>=77", env=own)
    locked = ("--require-hashes", "-r", HERE / "requirements-runtime.lock")
    run(*get, *locked, env=own, stderr=subprocess.DEVNULL)
    run("git", "clone", "-q", HERE, "source", umask=0o077)
    step("wheels and clone are there")


def serve() -> None:
    """Start the engine, and a server of wheels for its builds. Both end with this process."""
    dockerd = f"{DOCKERD} {os.environ['REHEARSAL']}"
    with (log := Path("/files/engine.log")).open("w") as file:
        both = [
            subprocess.Popen(line.split(), stdout=file, stderr=file) for line in (dockerd, WHEELS)
        ]
    while "API listen" not in log.read_text():
        if any(one.poll() is not None for one in both):
            skip(f"the engine does not start: {log.read_text().splitlines()[-1]}")
        time.sleep(0.1)


def clean(folder: Path) -> None:
    """Remove a run's folder and control groups, once the last process has left them."""
    for _ in range(10 * LIMIT):
        shutil.rmtree(folder, ignore_errors=True)
        everywhere = os.walk("/sys/fs/cgroup", topdown=False)
        groups = [place for place, *_ in everywhere if folder.name in place]
        for group in groups:
            with suppress(OSError):
                Path(group).rmdir()
        if not groups and not folder.exists():
            return
        time.sleep(0.1)


def hold(place: Path, how: int = fcntl.LOCK_EX) -> int:
    """Return a lock on a folder, which ends with this process. Raises BlockingIOError."""
    fcntl.flock(lock := os.open(place, os.O_RDONLY), how)
    return lock


def rehearse(script: str) -> int:
    """Prepare, and run the script inside; return its status."""
    KEPT.mkdir(parents=True, exist_ok=True)
    preparing = hold(KEPT)  # another clone may prepare the same
    for old in KEPT.glob("rehearsal-*"):  # of a process that was killed
        with suppress(BlockingIOError):
            hold(old, fcntl.LOCK_EX | fcntl.LOCK_NB)
            clean(old)
    hold(folder := Path(tempfile.mkdtemp(prefix="rehearsal-", dir=KEPT)))

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
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            there = {
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/run", "ROOT": str(ROOT),
                "PRAMANA_REVISION": run("git", "-C", HERE, "rev-parse", "HEAD").strip(),
                "REHEARSAL": folder.name, "REHEARSAL_USED": str(used.ru_utime + used.ru_stime),
            }  # fmt: skip
            ended = own("-n", "sh", "-c", ENTER, **there)
    finally:
        clean(folder)
    return ended


def main() -> None:
    """Prepare the engine on this machine, then run the script inside it."""
    *stage, script = sys.argv[1:]
    needed = ("apt-get", "dpkg", "git", "perl", "setpriv", "unshare")
    absent = [tool for tool in needed if shutil.which(tool) is None]
    if stage == ["prepare"]:
        prepare()
    elif stage == ["inside"]:
        serve()
        sys.exit(subprocess.run([sys.executable, "-u", script], check=False).returncode)
    elif (
        absent or os.geteuid() != 0 or subprocess.run((*OWN, "-n", "true"), check=False).returncode
    ):
        print(f"{script} is skipped: it needs root, and {', '.join(absent) or 'its rights'}.")
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        if (ended := rehearse(script)) != SKIPPED:
            print(f"{time.monotonic() - BEGAN:6.0f} s  {'failed' if ended else 'done'}")
            sys.exit(ended)


if __name__ == "__main__":
    main()
