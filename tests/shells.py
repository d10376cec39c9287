"""Shell scripts of pages and containers, with our commands ready to run.

A script finds programs of their names that hand the words over to the tests, which have the command
run in a forked process (`tests.forked`), and hand back what it said and its exit code.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.forked import Forked

PROGRAM = """#!{python} -IS
import json, os, socket, sys
if sys.argv[1:2] in {alone}:
    os.execv({program!r}, [{program!r}, *sys.argv[1:]])
with socket.create_connection(("127.0.0.1", {port})) as there:
    asked = [{module!r} or sys.stdin.read(), os.getcwd(), dict(os.environ), *sys.argv[1:]]
    there.sendall(json.dumps(asked).encode() + b"\\n")
    code, out, err = json.loads(there.makefile().read())
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""


@contextmanager
def ready_programs(programs: Mapping[str, str], *, alone: tuple[str, ...] = ()) -> Iterator[str]:
    """Give a PATH on which programs of ours are ready to run.

    Args:
        programs: the module of each of them; of a Python that reads a script, nothing.
        alone: words that begin a process of its own, such as a service's, which gets signals.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as taken,
    ):
        port = taken.getsockname()[1]
        for name, module in programs.items():
            program = str(Path(sys.executable).parent / name)
            named = {"python": sys.executable, "port": port, "module": module, "program": program}
            file = Path(folder) / name
            file.write_text(PROGRAM.format(alone=[[word] for word in alone], **named))
            file.chmod(0o700)
        # Nobody waits for it where a test has failed, perhaps because a command does not end.
        answering = threading.Thread(target=_answer, args=(taken, Path(folder)), daemon=True)
        answering.start()
        yield os.pathsep.join((folder, str(Path(sys.executable).parent), os.environ["PATH"]))
        with socket.create_connection(("127.0.0.1", port)):
            pass  # nothing is asked: that ends it
        answering.join()


def _answer(taken: socket.socket, folder: Path) -> None:
    """Run one command after the other, until somebody asks for nothing."""
    out, err = folder / "stdout", folder / "stderr"
    while True:
        calling, _ = taken.accept()
        with calling, calling.makefile("rw") as words:
            if not (asked := words.readline()):
                return
            module, where, env, *arguments = json.loads(asked)
            for file in (out, err):
                file.write_text("")
            run = Forked(module, *arguments, out=out, err=err, cwd=Path(where), env=env)
            words.write(json.dumps([run.wait(), out.read_text(), err.read_text()]))


def run_script(
    script: str, folder: Path, programs: Mapping[str, str], *, alone: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a page's script of bash in a folder; it ends with the first command that fails."""
    with ready_programs(programs, alone=alone) as path:
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
