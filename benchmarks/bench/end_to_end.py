"""What people wait for: three owners and a miner as real processes, and commands that start.

Eleven columns of the same people, all hanging on one hidden variable, lie as CSV at three owners.
Each publishes; the miner receives, seals, aligns, counts a table over all owners and grows a tree.
The stages of an owner are also run alone, one after the other, on the same table. Help and
`import pramana` are compared with other starts.

Also here:

* The owners' folders and commands, and how much memory a process and those it started hold.
"""

from __future__ import annotations

import math
import os
import re
import resource
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from typer.main import get_command

from benchmarks.bench.measuring import MOST_MEMORY, Bench, Comparison, Spent
from benchmarks.load import Served, miner
from owner_agent.cli.main import build
from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import randomize
from owner_agent.release.options import PART_RECORDS
from owner_agent.release.outbox import Outgoing
from owner_agent.release.outbox import prepare as prepare_release
from owner_agent.release.sorting import SortedRuns
from owner_agent.site.mistakes import toml
from owner_agent.site.planning import planned
from owner_agent.site.site import load_site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from owner_agent.table.encode import TableEncoder, needed_columns
from owner_agent.table.table import CHUNK_ROWS, read_chunks
from pramana.demo.run import RestClient, open_study, write_secret
from pramana_core.progress import unwatched

OWNERS = {"clinic": (2, 3, 4, 5), "registry": (2, 2, 3, 4), "school": (5, 3, 2)}
"""The categories of each owner's columns."""

GAMMA = 9.0
STUDY = "bench"
CHUNK = 500_000
MEBIBYTE = 1 << 20
WHOLE = "all that an owner's command takes"
TABLE = "the owners' CSV files"

OWNER = ("read", "encode", "pseudonyms", "draw and sort", "merge", "write")
MINER = ("receive and seal", "align", "count five variables", "grow a tree")
SIZES = ("sent", "kept by an owner", "kept by the miner")
PEAKS = ("an owner's agent", "the miner", "the miner's jobs")
SHARE, LINEAR, ALIKE = 0.6, 1.1, 1.1
"""At least this share of the slowest stage's speed; at most so much more time and memory."""


@dataclass(frozen=True)
class Passage:
    """What it took to bring records from the owners' tables into models.

    Attributes:
        stages: time of each: of owners the mean of all three.
        sizes: bytes of all three owners.
        peaks: the most MiB that a process held, or held for itself (`anonymous`: no mapped files).
    """

    stages: dict[str, Spent] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)

    @property
    def whole(self) -> float:
        """Seconds from the first owner's command to the last job's end, one after the other."""
        return len(OWNERS) * self.stages["publish"].elapsed + sum(
            self.stages[name].elapsed for name in MINER[1:]
        )

    def slowest(self) -> Spent:
        """Return the time of an owner's slowest stage, run alone."""
        return max(self.stages[name] for name in OWNER)


def passages(bench: Bench) -> list[Comparison]:
    """Compare stages with the whole, memory with what is allowed, and larger tables with others."""

    @cache
    def passage(records: int) -> Passage:
        return pass_through(bench.folder / str(records), records)

    found: list[Comparison] = []
    for records in bench.sizes:
        last = records == bench.sizes[-1]
        found += _of_one(partial(passage, records), f"{records:,} records", last=last)
    *_, smaller, larger = bench.sizes
    return found + _beside(partial(passage, larger), partial(passage, smaller), larger, smaller)


GROUPS = (passages,)


def _of_one(passage: Callable[[], Passage], what: str, *, last: bool) -> list[Comparison]:
    """Compare what one size takes; aims are those of the last, for starts weigh on small ones."""

    def seconds(stage: str) -> Callable[[], Spent]:
        return lambda: passage().stages[stage]

    found = [
        Comparison(
            f"{stage}, {what}", WHOLE, seconds(stage), seconds("publish"), rounds=1, shown=False
        )
        for stage in ("publish", *OWNER, *MINER)
    ]
    found.append(
        Comparison(
            f"an owner publishes {what}",
            "its slowest stage alone",
            seconds("publish"),
            lambda: passage().slowest(),
            aim=1 / SHARE if last else None,
            clock="elapsed",
            rounds=1,
            shown=last,
        )
    )
    found += [
        Comparison(
            f"{name}, {what}",
            TABLE,
            lambda name=name: passage().sizes[name] / MEBIBYTE,
            lambda: passage().sizes["table"] / MEBIBYTE,
            unit="MiB",
            rounds=1,
            shown=False,
        )
        for name in SIZES
    ]
    return found + [
        Comparison(
            f"memory of {name}, {what}",
            "what it may hold",
            lambda name=name: passage().peaks[name],
            lambda: MOST_MEMORY,
            unit="MiB",
            aim=1.0,
            rounds=1,
            shown=last and name == whose,
        )
        for whose in PEAKS
        for name in (whose, f"{whose}, anonymous")
    ]


def _beside(
    large: Callable[[], Passage], small: Callable[[], Passage], larger: int, smaller: int
) -> list[Comparison]:
    """Compare two sizes: the seconds a record takes, and the memory."""
    time_taken = Comparison(
        f"tables to models, {larger:,} records",
        f"the same seconds a record as {smaller:,}",
        lambda: Spent(large().whole, 0.0),
        lambda: Spent(small().whole * larger / smaller, 0.0),
        aim=LINEAR,
        clock="elapsed",
        rounds=1,
    )
    return [time_taken] + [
        Comparison(
            f"memory of {name} at {larger:,} records",
            f"the same memory as at {smaller:,}",
            lambda name=name: large().peaks[name],
            lambda name=name: small().peaks[name],
            unit="MiB",
            aim=ALIKE,
            rounds=1,
        )
        for name in PEAKS
    ]


def pass_through(folder: Path, records: int) -> Passage:
    """Let a number of records pass from tables to models; the folder is removed again."""
    folder.mkdir(parents=True)
    made = Passage()
    with miner(folder / "miner") as served, RestClient(served.url, served.token, None) as admin:
        sites = prepare(folder, served, admin, records)
        with get_context("spawn").Pool(1) as pool:
            alone = pool.map(_alone, sites)
        with _watching(served.process.pid) as held:
            used = _used(served.process.pid)
            agents = [_publish(site) for site in sites]
            made.stages[MINER[0]] = Spent(_received(admin), _used(served.process.pid) - used)
            made.stages.update(_at_miner(admin, served.process.pid))
        made.stages["publish"] = _mean([spent for spent, _ in agents])
        for name in alone[0]:
            made.stages[name] = _mean([stages[name] for stages in alone])
        made.peaks["an owner's agent"] = max(held.whole for _, held in agents)
        made.peaks["an owner's agent, anonymous"] = max(held.anonymous for _, held in agents)
        made.peaks["the miner"] = held.whole
        made.peaks["the miner, anonymous"] = held.anonymous
        made.peaks["the miner's jobs"] = held.children
        made.peaks["the miner's jobs, anonymous"] = held.children_anonymous
        outboxes = [site.parent / ".pramana" / "outbox" for site in sites]
        made.sizes["table"] = sum(_size(site.parent / "table.csv") for site in sites)
        made.sizes["sent"] = sum(map(_size, outboxes))
        made.sizes["kept by an owner"] = sum(_size(site.parent / ".pramana") for site in sites)
        made.sizes["kept by the miner"] = _size(folder / "miner" / "data")
    shutil.rmtree(folder)
    return made


def _alone(path: Path) -> dict[str, Spent]:
    """Run an owner's stages one after the other, each over the whole table; return their times."""
    site = load_site(path)
    plan, own = planned(site), KeyStore(site.state).load()
    spent: dict[str, Spent] = {}

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        began, used = time.perf_counter(), time.process_time()
        yield
        spent[name] = Spent(time.perf_counter() - began, time.process_time() - used)

    with stage("read"):
        texts = list(read_chunks(site.table, needed_columns(site), rows=CHUNK_ROWS))
    with stage("encode"):
        encoder = TableEncoder(site, plan)
        codes = [encoder.add(text) for text in texts]
    with stage("pseudonyms"):
        ids = [text.columns[site.file.record_id].to_pylist() for text in texts]
        keys = [pseudonyms(own, STUDY, some) for some in ids]
    with stage("draw and sort"):
        made = [randomize(plan.plan, own, STUDY, *some) for some in zip(keys, codes, strict=True)]
    with stage("merge"):
        runs = SortedRuns(site.state, plan.plan)
        for one in made:
            runs.add(one.keys, one.columns)
        merged = runs.merged(CHUNK_ROWS, unwatched)
    with stage("write"):
        prepare_release(path.parent / "scratch", Outgoing.of(merged), PART_RECORDS)
    shutil.rmtree(path.parent / "scratch")
    return spent


def _at_miner(admin: RestClient, process: int) -> dict[str, Spent]:
    """Return the time of the stages after the seals; the workers have loaded what they need."""
    spent = {MINER[1]: _timed(process, lambda: admin.get(f"/v1/studies/{STUDY}/alignment"))}
    names = [f"{owner}-{i}" for owner, sizes in OWNERS.items() for i in range(len(sizes))]
    five = [names[0], names[1], names[4], names[5], names[8]]
    _job(admin, {"kind": "contingency-table", "variables": names[:2]})
    for what, spec in {
        MINER[2]: {"kind": "contingency-table", "variables": five},
        MINER[3]: {"kind": "decision-tree", "target": names[0]},
    }.items():
        spent[what] = _timed(process, partial(_job, admin, spec))
    return spent


def _job(admin: RestClient, spec: dict[str, Any]) -> None:
    job = admin.post(f"/v1/studies/{STUDY}/jobs", {"spec": spec})
    admin.wait(f"/v1/jobs/{job['id']}")


def _received(admin: RestClient) -> float:
    """Return the seconds in which parts and seals were answered, all together, by its figures."""
    found = re.findall(
        r'^pramana_request_seconds_sum\{route="(?:put_part|seal_release)"\} (\S+)$',
        admin.text("/metrics"),
        re.MULTILINE,
    )
    return sum(map(float, found))


def _mean(spent: Sequence[Spent]) -> Spent:
    return Spent(*(float(np.mean(one)) for one in zip(*spent, strict=True)))


# The owners' folders and commands, and how much memory a process and those it started hold.


def prepare(folder: Path, served: Served, admin: RestClient, records: int) -> list[Path]:
    """Write the owners' tables, give them keys and have them join; return their site files."""
    invitations = open_study(admin, STUDY, STUDY, list(OWNERS))
    linkage = write_secret(folder / "linkage.key", secrets.token_hex(32))
    sites = []
    for number, (owner, sizes) in enumerate(OWNERS.items()):
        home = folder / owner
        home.mkdir()
        write_table(home / "table.csv", owner, sizes, records, seed=number)
        site = home / "site.toml"
        variables = [
            {
                "name": f"{owner}-{i}",
                "categories": [f"c{k}" for k in range(size)],
                "sensitive": True,
                "channel": {"kind": "gamma-diagonal", "gamma": GAMMA},
            }
            for i, size in enumerate(sizes)
        ]
        content = {
            "owner": owner,
            "table": "table.csv",
            "record_id": "record",
            "miner": {"url": served.url, "study": STUDY},
            "variables": variables,
        }
        site.write_text(toml(content), encoding="utf-8")
        invitation = write_secret(home / "invitation", invitations[owner])
        _command("keys", "create", "--site", str(site))
        _command("keys", "import", "linkage", str(linkage), "--site", str(site))
        _command("join", "--secret-file", str(invitation), "--site", str(site))
        sites.append(site)
    return sites


def _command(*words: str) -> None:
    """Run an owner's command here: what is measured has a process of its own."""
    command: Any = get_command(build(Environment()))
    with redirect_stdout(StringIO()):
        command(words, standalone_mode=False)


def write_table(path: Path, owner: str, sizes: Sequence[int], records: int, *, seed: int) -> None:
    """Write an owner's columns of all people, in an order of its own, chunk by chunk."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    chances = np.random.default_rng(11)
    laws = [chances.dirichlet(np.full(size, 0.8), size=4).cumsum(axis=1) for size in sizes]
    names = ["record", *(f"{owner}-{i}" for i in range(len(sizes)))]
    schema = pa.schema([(name, pa.string()) for name in names])
    step = 10_000_019 * (seed + 1)
    while math.gcd(step, records) > 1:  # or people would be there twice, and others never
        step += 1
    with csv.CSVWriter(path, schema) as file:
        for start in range(0, records, CHUNK):
            person = np.arange(start, min(start + CHUNK, records), dtype=np.int64) * step % records
            hidden = (4 * _chance(person, 0)).astype(int)
            columns = [pc.utf8_lpad(pc.cast(pa.array(person), pa.string()), 9, "0")]
            for i, law in enumerate(laws):
                where = _chance(person, 1 + 10 * seed + i)
                codes = sum((where > end[hidden]).astype(np.int8) for end in law.T[:-1])
                labels = pa.array([f"c{k}" for k in range(sizes[i])])
                columns.append(labels.take(pa.array(codes)))
            file.write_table(pa.table(columns, schema=schema))


def _chance(person: np.ndarray, of: int) -> np.ndarray:
    """Return a number in [0, 1) of each person, the same whoever asks and in whatever order."""
    mixed = person.astype(np.uint64) + np.uint64(of * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))).astype(float) / 2.0**64


@dataclass
class Held:
    """The most MiB that a process held, whole and for itself, and each that it started."""

    whole: float = 0.0
    anonymous: float = 0.0
    children: float = 0.0
    children_anonymous: float = 0.0


def _publish(site: Path) -> tuple[Spent, Held]:
    """Publish as an owner does; return what it took."""
    began = time.perf_counter()
    words = ["publish", "--yes", "--json", "--site", str(site)]
    with (site.parent / "said").open("wb") as said:
        process = subprocess.Popen(  # noqa: S603 our own module
            [sys.executable, "-m", "owner_agent", *words], stdout=said, stderr=said
        )
        with _watching(process.pid) as held:
            _, code, used = os.wait4(process.pid, 0)
    if code:
        raise RuntimeError((site.parent / "said").read_text())
    return Spent(time.perf_counter() - began, used.ru_utime + used.ru_stime), held


@contextmanager
def _watching(process: int) -> Iterator[Held]:
    """Look at a process's memory, and that of those it started, all the while."""
    held, ended = Held(), threading.Event()

    def look() -> None:
        while not ended.wait(0.02):
            whole, own = _memory(process)
            held.whole, held.anonymous = max(held.whole, whole), max(held.anonymous, own)
            for child in _started_by(process):
                whole, own = _memory(child)
                held.children = max(held.children, whole)
                held.children_anonymous = max(held.children_anonymous, own)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield held
    finally:
        ended.set()
        watcher.join()


def _memory(process: int) -> tuple[float, float]:
    """Return the most MiB that a process ever held, and what it holds now without files."""
    found = {"VmHWM:": 0.0, "RssAnon:": 0.0}
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            name, _, rest = line.partition("\t")
            if name in found:
                found[name] = int(rest.split()[0]) / 1024
    return found["VmHWM:"], found["RssAnon:"]


def _started_by(process: int) -> Iterator[int]:
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from _started_by(child)


def _timed(process: int, act: Callable[[], object]) -> Spent:
    """Act; return the seconds that passed, and those of a process and those it started."""
    began, used = time.perf_counter(), _used(process)
    act()
    return Spent(time.perf_counter() - began, _used(process) - used)


def _used(process: int) -> float:
    ticks = 0
    for one in (process, *_started_by(process)):
        with suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    return sum(p.stat().st_size for p in files)


STARTED = {
    "owner-agent --help": ("-m", "owner_agent", "--help"),
    "miner-service --help": ("-m", "miner_service", "--help"),
    "pramana --help": ("-m", "pramana", "--help"),
    "python -c 'import pramana'": ("-c", "import pramana"),
}
FIRST_USE = {
    "the first use of pm.DecisionTree": ("-c", "import pramana as pm; pm.DecisionTree"),
}


def commands(bench: Bench) -> list[Comparison]:  # noqa: ARG001
    """Start each command, beside Python with numpy."""
    return _starts(STARTED, "python -c 'import numpy'", ("-c", "import numpy"))


def first_use(bench: Bench) -> list[Comparison]:  # noqa: ARG001
    """Use a name for the first time, beside what scikit-learn loads for the same."""
    theirs = ("-c", "from sklearn.tree import DecisionTreeClassifier")
    return _starts(FIRST_USE, "importing scikit-learn's tree", theirs)


def _starts(
    started: Mapping[str, Sequence[str]], other: str, theirs: Sequence[str]
) -> list[Comparison]:
    return [
        Comparison(name, other, partial(_run, words), partial(_run, theirs), rounds=9)
        for name, words in started.items()
    ]


def _run(words: Sequence[str]) -> Spent:
    began, used = time.perf_counter(), _of_children()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return Spent(time.perf_counter() - began, _of_children() - used)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


STARTUP = (commands, first_use)
