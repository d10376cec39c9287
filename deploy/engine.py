"""Run a Python script next to its own container engine, made from Debian packages.

The machine must be a Debian with mmdebstrap, and the user root. The engine gets a new file system,
and its own mounts, network and processes. The last commit is cloned under umask 077. No container
registry is used. On the machine, only `~/.cache/pramana-compose` changes, which keeps packages and
images.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
KEPT = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "pramana-compose"
SERVICES = "caddy,postgresql-17"
SUITE = "trixie"  # whose engine and Compose are 26, as docker-compose.yml needs
PYTHON = "python3,python3-venv,ca-certificates"
ENGINE = "docker.io,docker-cli,docker-compose,docker-buildx,iproute2,iptables,openssl,procps"
PACKAGES = {"root": f"{PYTHON},{ENGINE}", "python.tar": PYTHON, "services.tar": SERVICES}
ENTER = """set -e
cd root && mount --bind . . && cd "$PWD"
mount -t proc proc proc && mount --rbind /sys sys && mount --rbind /dev dev
mount -t tmpfs run run
umount sys/fs/cgroup/unified 2>/dev/null || true
mkdir -p mnt files && mount --bind .. files
pivot_root . mnt && umount -l mnt && ip link set lo up
cd /files/source && exec python3 -u deploy/engine.py inside"""
DOCKERD = "dockerd --data-root /files/engine --exec-root /run/engine --cgroup-parent rehearsal"
OWN = ("unshare", "-nmpf", "--kill-child", "--propagation", "private")
BEGAN = float(os.environ.setdefault("REHEARSAL_BEGAN", str(time.monotonic())))
WHEELS = "python3 -m http.server -d /files/wheels 8099"


def run(*words: object, check: bool = True, **more: Any) -> str:
    line = [str(word) for word in words]
    done = subprocess.run(line, text=True, check=False, stdout=subprocess.PIPE, **more)
    assert not check or done.returncode == 0, f"{' '.join(line)}: {done.returncode}"
    return str(done.stdout or "")


def step(name: str) -> None:
    print(f"{time.monotonic() - BEGAN:6.0f} s  {name}")


def download(*words: object, **more: Any) -> None:
    """Run a small download. If it is refused, print the reason and end the program."""
    try:
        run(*words, stderr=subprocess.DEVNULL, **more)
    except AssertionError as refused:
        print(f"{sys.argv[-1]} is skipped, because downloads fail: {refused}")
        sys.exit()


def prepare() -> None:
    """Create the file systems, download the wheels, and clone the last commit."""
    KEPT.mkdir(parents=True, exist_ok=True)
    debian = ("Created-By: Packages", "Origin: Debian", "Component: main")
    addresses = run("apt-get", "indextargets", "--format", "$(REPO_URI)", *debian).split()
    mirror = next((address for address in addresses if "security" not in address), "")
    apt = ("/usr/lib/apt/apt-helper", "download-file")
    download(*apt, f"{mirror}dists/{SUITE}/Release", KEPT / "Release")

    def make(place: str) -> None:
        if not (KEPT / place).exists():
            run("rm", "-rf", part := KEPT / f"part-{place}")
            wanted = ("--variant=minbase", f"--include={PACKAGES[place]}")
            run("mmdebstrap", "--quiet", *wanted, SUITE, part, mirror)
            part.rename(KEPT / place)
        step(f"{place} is there")

    with ThreadPoolExecutor() as pool:  # they wait for packages most of the time
        list(pool.map(make, PACKAGES))
    # The engine's Python, on this machine's network and with this machine's settings of pip.
    root = KEPT / "root"
    (loader,) = root.glob("lib64/ld-linux-*.so.*")
    (libraries,) = root.glob("usr/lib/*-linux-gnu")
    (pip,) = root.glob("usr/share/python-wheels/pip-*.whl")
    python = (loader, "--library-path", libraries, root / "usr/bin/python3", pip / "pip")
    get = (*python, "download", "--quiet", "--only-binary=:all:", "--dest", KEPT / "wheels")
    own = {**os.environ, "PYTHONHOME": str(root / "usr")}
    download(*get, "setuptools>=77", env=own)
    locked = ("--require-hashes", "-r", HERE / "requirements-runtime.lock")
    run(*get, *locked, env=own, stderr=subprocess.DEVNULL)
    run("rm", "-rf", KEPT / "source")
    run("git", "clone", "-q", HERE, KEPT / "source", umask=0o077)
    os.environ["PRAMANA_REVISION"] = run("git", "-C", HERE, "rev-parse", "HEAD").strip()


def serve() -> None:
    """Start the engine, and a server of wheels for its builds. Both end with this process."""
    with (log := Path("/files/engine.log")).open("w") as file:
        both = [
            subprocess.Popen(line.split(), stdout=file, stderr=file) for line in (DOCKERD, WHEELS)
        ]
    while "API listen" not in log.read_text():
        assert all(one.poll() is None for one in both), log.read_text()
        time.sleep(0.1)


def main() -> None:
    """Prepare the engine on this machine, then run the script inside it."""
    absent = [tool for tool in ("mmdebstrap", "unshare", "git") if shutil.which(tool) is None]
    script = sys.argv[-1]
    if sys.argv[1] == "inside":
        serve()
        sys.exit(subprocess.run([sys.executable, "-u", script], check=False).returncode)
    elif absent or os.geteuid() != 0 or subprocess.run((*OWN, "true"), check=False).returncode:
        print(f"{script} is skipped: it needs root, and {', '.join(absent) or 'its rights'}.")
    else:
        prepare()
        step("wheels and clone are there")
        inside = (*OWN, "sh", "-c", f"{ENTER} {script}")
        ended = subprocess.run(inside, cwd=KEPT, check=False).returncode
        for folder in Path("/sys/fs/cgroup").glob("**/rehearsal"):
            run("find", folder, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";", check=False)
        step("failed" if ended else "done")
        sys.exit(ended)


if __name__ == "__main__":
    main()
