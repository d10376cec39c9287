"""What is pinned, on other processors: `make processors`.

Numbers round as the processor's kernels do: those of OpenBLAS, chosen by `OPENBLAS_CORETYPE` and
split over threads, numpy's own, and the logarithms of the C library. A machine can run those of
processors older than its own, so that one machine shows what others would find. OpenBLAS silently
takes another kernel where it has not the one asked for; what is claimed here is what it answered.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent

KERNELS: Final = ("SkylakeX", "Haswell", "Zen", "Sandybridge", "Prescott")
"""With Sandybridge they are four where OpenBLAS has Haswell's for Zen, as in numpy's builds."""

SHORT: Final = ("Haswell", "Prescott")
"""Those of `make test`."""

_NAMES: Final = {"Katmai": "Prescott"}
"""OpenBLAS calls the kernels of Prescott by the first processor that is given them."""

THREADS: Final = (1, 2)

WITHOUT: Final = {
    "without AVX-512": (("X86_V4", "AVX512_SKX", "AVX512_ICL", "AVX512_SPR"), "-AVX512F"),
    "without AVX2": (
        ("X86_V3", "AVX2", "FMA3", "X86_V4", "AVX512_SKX", "AVX512_ICL", "AVX512_SPR"),
        "-AVX512F,-AVX2,-FMA",
    ),
}
"""What numpy and the C library do without besides: with Haswell's kernels the first is a processor
of AMD or of Intel's desktops, with Prescott's the second is one of ten years ago."""

SUITES: Final = (
    "tests/pins",
    "tests/docs/test_notebooks.py",
    "tests/examples",
    "tests/pramana/simulate",
    "tests/benchmarks/reproduce",
    "tests/processors",
)
"""Where figures, simulations, likelihoods, messages, notebooks and pages are held to what they
print."""

_ASK = """
import json, numpy, scipy.linalg, threadpoolctl
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
blas = [one for one in threadpoolctl.threadpool_info() if one.get("architecture")]
print(json.dumps([
    sorted({one["architecture"] for one in blas}),
    [name for name in __cpu_dispatch__ if __cpu_features__.get(name)],
]))
"""


@dataclass(frozen=True)
class Setting:
    """A kernel, the threads it is split over, and what numpy and the C library do without."""

    kernel: str
    threads: int
    without: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.kernel} {self.without}".strip()

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a process under it."""
        threads = str(self.threads)
        return {
            **os.environ,
            **self.variables,
            "OPENBLAS_CORETYPE": self.kernel,
            "OPENBLAS_NUM_THREADS": threads,
            "OMP_NUM_THREADS": threads,
        }


def settings(kernels: Sequence[str], threads: Sequence[int] = THREADS) -> Iterator[Setting]:
    """Yield each kernel with each number of threads, and two that numpy goes along with."""
    for kernel in kernels:
        for number in threads:
            yield Setting(kernel, number)
    _, features = answered({})
    for kernel, without in zip(SHORT, WITHOUT, strict=True):
        names, library = WITHOUT[without]
        # Of one that the processor has not, numpy warns.
        variables = {"NPY_DISABLE_CPU_FEATURES": " ".join(n for n in names if n in features)}
        if not sys.platform.startswith("linux"):
            library = ""
        if library:
            variables["GLIBC_TUNABLES"] = f"glibc.cpu.hwcaps={library}"
        if kernel in kernels:
            yield Setting(kernel, threads[0], without, variables)


def answered(environment: Mapping[str, str]) -> tuple[set[str], list[str]]:
    """Return the kernels that OpenBLAS uses in an environment, and numpy's own features there."""
    return _answered(tuple(sorted({**os.environ, **environment}.items())))


@cache
def _answered(environment: tuple[tuple[str, str], ...]) -> tuple[set[str], list[str]]:
    done = subprocess.run(  # noqa: S603 - its own text
        [sys.executable, "-c", _ASK],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=True,
    )
    used, features = json.loads(done.stdout)
    return {_NAMES.get(name, name) for name in used}, features


def instead(setting: Setting) -> str:
    """Return the kernel that OpenBLAS takes instead of a setting's; "" where it takes that one."""
    used, _ = answered(setting.environment)
    return "" if used == {setting.kernel} else " and ".join(sorted(used)) or "no OpenBLAS"


def failures(setting: Setting, tests: Sequence[str], workers: str) -> list[str]:
    """Return the tests that fail under a setting."""
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider"]
    done = subprocess.run(  # noqa: S603 - tests that are named on the command line
        [*command, "-n", workers, *tests],
        cwd=ROOT,
        env=setting.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    failed = [
        line.split(" - ")[0].split(maxsplit=1)[1]
        for line in lines
        if line.startswith(("FAILED ", "ERROR "))
    ]
    if done.returncode and not failed:
        return [f"pytest ended with {done.returncode}: {(done.stderr or done.stdout)[-500:]}"]
    return failed


def main() -> int:
    """Run the tests under each setting, print a line for each, and return 1 if any failed."""
    asked = argparse.ArgumentParser(description="Run what is pinned on other processors.")
    asked.add_argument("tests", nargs="*", default=list(SUITES), help="by default all that pin")
    asked.add_argument("--kernels", nargs="+", default=list(KERNELS), help="names of OpenBLAS")
    asked.add_argument("--threads", nargs="+", type=int, default=list(THREADS))
    asked.add_argument("--workers", default="auto", help="processes of pytest")
    given = asked.parse_args()
    wrong = run = 0
    print(f"{'kernel':32} {'threads':>7}  result", flush=True)
    for setting in settings(given.kernels, given.threads):
        line = f"{setting.name:32} {setting.threads:7}  "
        if other := instead(setting):
            print(f"{line}not here: OpenBLAS takes {other} instead; not run", flush=True)
            continue
        failed = failures(setting, given.tests, given.workers)
        run, wrong = run + 1, wrong + bool(failed)
        print(line + (f"{len(failed)} failed" if failed else "passed"), flush=True)
        for name in failed:
            print(f"    {name}", flush=True)
    print(f"{run} settings run, {wrong} with failures")
    return int(wrong > 0 or run == 0)


if __name__ == "__main__":
    sys.exit(main())
