"""The shell blocks of a page, run as a reader would run them, with our commands ready to run.

A command that ends runs in this process, which has loaded what it needs: the shell finds a program
of its name that hands the words over and hands back the streams and the exit code.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path

from tests.forked import run_command

HANDED_OVER = """#!{python} -IS
import json, os, socket, sys
if sys.argv[1:2] in {alone}:
    os.execv({program!r}, [{program!r}, *sys.argv[1:]])
with socket.create_connection(("127.0.0.1", {port})) as there:
    there.sendall(json.dumps([{module!r}, os.getcwd(), *sys.argv[1:]]).encode() + b"\\n")
    code, out, err = json.loads(there.makefile().read())
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""


def run_script(
    script: str,
    folder: Path,
    programs: Mapping[str, str],
    *,
    alone: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a script of bash, which ends with the first command that fails.

    Args:
        script: what the page shows.
        folder: where it runs.
        programs: the module of each program of ours that it calls.
        alone: words that begin a process of its own, such as a service's.
        env: more of its environment.
    """
    with (
        tempfile.TemporaryDirectory() as found_first,
        socket.create_server(("127.0.0.1", 0)) as taken,
        (folder / "stdout").open("w+") as out,
        (folder / "stderr").open("w+") as err,
    ):
        taken.settimeout(0.1)
        port = taken.getsockname()[1]
        for name, module in programs.items():
            program = str(Path(sys.executable).parent / name)
            named = {"python": sys.executable, "port": port, "module": module, "program": program}
            file = Path(found_first) / name
            file.write_text(HANDED_OVER.format(alone=[[word] for word in alone], **named))
            file.chmod(0o700)
        path = f"{found_first}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, **(env or {}), "PATH": path}
        command = ["bash", "-euo", "pipefail", "-c", script]
        shell = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=err)
        while shell.poll() is None:
            try:
                calling, _ = taken.accept()
            except TimeoutError:
                continue
            with calling, calling.makefile("rw") as words:
                module, where, *arguments = json.loads(words.readline())
                with chdir(where):
                    done = run_command(module, *arguments)
                words.write(json.dumps([done.returncode, done.stdout, done.stderr]))
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(command, shell.returncode, out.read(), err.read())
