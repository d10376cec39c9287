"""Shell scripts of pages and containers, with our commands ready to run.

A script finds programs of their names that hand the words over to the tests, which have the command
run in a forked process (`tests.forked`), and hand back what it said and its exit code.
"""

from __future__ import annotations

import itertools
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
from typing import TextIO

from tests.forked import Forked

PROGRAM = """#!{python} -IS
import json, os, signal, socket, sys
if sys.argv[1:2] in {alone}:
    os.execv({program!r}, [{program!r}, *sys.argv[1:]])
with socket.create_connection(("127.0.0.1", {port})) as there, there.makefile() as told:
    asked = [{module!r} or sys.stdin.read(), os.getcwd(), dict(os.environ), *sys.argv[1:]]
    there.sendall(json.dumps(asked).encode() + b"\\n")
    pid = int(told.readline())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    code, out, err = json.loads(told.read())
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""
"""A signal that it gets is passed on to the process that runs the command."""


@contextmanager
def ready_programs(programs: Mapping[str, str], *, alone: tuple[str, ...] = ()) -> Iterator[str]:
    """Give a PATH on which programs of ours are ready to run.

    Args:
        programs: the module of each of them; of a Python that reads a script, nothing.
        alone: words that begin a process of its own.
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
    """Run commands, each as long as it takes, until somebody asks for nothing."""
    for number in itertools.count():
        calling, _ = taken.accept()
        words = calling.makefile("rw")
        calling.close()
        if not (asked := words.readline()):
            words.close()
            return
        place = folder / str(number)
        threading.Thread(target=_run, args=(words, asked, place), daemon=True).start()


def _run(words: TextIO, asked: str, place: Path) -> None:
    out, err = place.with_suffix(".out"), place.with_suffix(".err")
    module, where, env, *arguments = json.loads(asked)
    for file in (out, err):
        file.write_text("")
    run = Forked(module, *arguments, out=out, err=err, cwd=Path(where), env=env)
    with words:
        print(run.pid, file=words, flush=True)
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
