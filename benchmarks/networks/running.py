"""Runs a setting's command as a person would, and says how it ended and what it took."""

from __future__ import annotations

import gzip
import importlib.resources
import json
import multiprocessing
import re
import resource
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from benchmarks.networks.settings import Setting
from pramana.cli import app

Outcome = dict[str, Any]

_VARIABLE = re.compile(r"^variable\s+(\S+)", re.MULTILINE)


def network_file(name: str, folder: Path) -> Path:
    """Return one of pgmpy's example networks as a BIF file, made in `folder` where it is made."""
    path = folder / f"{name}.bif"
    if not path.exists():
        packed = importlib.resources.files("pgmpy") / f"utils/example_models/{name}.bif.gz"
        path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


def arguments_of(setting: Setting, folder: Path, records: int) -> list[str]:
    """Return a setting's arguments; what classifiers predict is the first variable of the file."""
    path = network_file(setting.source, folder)
    found = _VARIABLE.search(path.read_text(encoding="utf-8"))
    assert found is not None  # noqa: S101 - every network has variables
    return setting.arguments(path, found.group(1), records)


def measured(setting: Setting, folder: Path, records: int, seconds: float) -> Outcome:
    """Run a setting; return what was designed, the seconds of the processor, and what went wrong.

    The command runs in a process of its own, forked from this one: the program has been started.

    Args:
        setting: what is run.
        folder: where the network's file is made.
        records: how many each command draws.
        seconds: after so many it is ended.
    """
    arguments = ["simulate", *arguments_of(setting, folder, records), "--json", "-"]
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    before = _spent()
    process = context.Process(target=_answer, args=(arguments, sender))
    process.start()
    sender.close()  # so that the end of the process is that of the pipe, too
    answered = receiver.poll(seconds)
    ended = _received(receiver) if answered else {"ended": "unfinished"}
    if not answered:
        process.kill()
    process.join()
    return {"records": records, "seconds": round(_spent() - before, 1), **ended}


def _received(receiver: Connection) -> Outcome:
    """Return what a process sent, or that it died before it did, as for want of memory."""
    try:
        found: Outcome = receiver.recv()
    except EOFError:
        return {"ended": "died"}
    return found


def _answer(arguments: list[str], sender: Connection) -> None:
    """Run a command and send how it ended."""
    made = CliRunner().invoke(app, arguments)
    if made.exit_code:
        said = made.stderr.strip().splitlines()[-3:] or [repr(made.exception)]
        sender.send({"ended": "refused", "said": said})
        return
    answer = json.loads(made.stdout)
    learned = {"ended": "learned", "design": answer["setting"]["design"], **_figure(answer)}
    sender.send(learned)


def _figure(answer: dict[str, Any]) -> Outcome:
    """Return the learner's main figure, from the reports and from the clean records."""
    if answer["learner"] == "bayes-net":
        return {"kl": [answer["mean"]["kl"], answer["clean"]["mean"]["kl"]]}
    if answer["learner"] == "rules":
        rows = answer["by_length"]
        return {"missed_pct": [row["false_negative_pct"] for row in rows]}
    return {"accuracy": [answer[kind]["mean"] for kind in ("accuracy", "clean_accuracy")]}


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
