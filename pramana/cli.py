"""The `pramana` command: `demo`, `reproduce`, `simulate`, `study` and `compose`."""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pramana.simulate.commands.cli import simulate
from pramana.study_command import app as study
from pramana_core.errors import OptionError
from pramana_core.report.terminal import print_report
from pramana_core.terminal import (
    application,
    console,
    print_json,
    progress_bar,
    run,
    with_examples,
)

if TYPE_CHECKING:
    from pramana.demo.scenario import Scenario

app = application("Learn models, with error bars, from data that several owners will not share.")


@app.command()
def demo(
    records: Annotated[int | None, typer.Option(help="Records to draw (default 20000).")] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Make the demonstration's data and keys reproducible."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the report, the result and the owners' tables.")
    ] = Path("demo-out"),
    json: Annotated[bool, typer.Option("--json", help="Write the result as JSON.")] = False,
) -> None:
    """Run owners and a miner as separate processes and learn a Bayesian network with error bars.

    The records are drawn from the network of Ma (2006), figure 5.2, so every estimate can be
    compared with the truth. Exit codes: 0 done, 2 bad input, 4 request rejected, 5 no answer.
    """
    from pramana.demo.run import demonstrate

    # A termination signal stops the services too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    scenario = _scenario(records, seed)
    with progress_bar(patience=0) as bar:
        report = demonstrate(
            scenario, out, seed=seed, say=lambda what, share: bar.stage(what, share, 1.0)
        )
    if json:
        print_json(report.numbers)
        return
    print_report(report, console(), console(stderr=True))
    console().print(f"Report  {out / 'report.html'}\nResult  {out / 'result.json'}", soft_wrap=True)


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Experiments, or `all`; without names, list them."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the pictures, the tables and an index page.")
    ] = Path("reproduce-out"),
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same files.")] = 1,
    data: Annotated[Path | None, typer.Option(help="Folder with the public tables.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions.")] = False,
    json: Annotated[
        bool,
        typer.Option("--json", help="Write the findings, or the list of experiments, as JSON."),
    ] = False,
) -> None:
    """Reproduce the papers' figures and tables, and report where the results agree with the papers.

    The experiments are in a checkout of Pramana, not in the installed package. `all` skips the
    experiments whose tables are missing from --data. Exit codes: 0 done, whether or not the results
    agree; 2 bad input.
    """
    sys.path.append(str(Path(__file__).parents[1]))
    try:
        # Imported by name, since the product must not depend on the experiments.
        command = import_module("benchmarks.reproduce.run")
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("benchmarks"):
            raise
        raise OptionError(
            "The papers' experiments are not in the installed package. Run them from a checkout of"
            " Pramana, with `make install` and `.venv/bin/pramana reproduce`.",
            where="reproduce",
        ) from None
    if not names:
        command.list_experiments(json=json)
    else:
        command.run_experiments(names, out, seed=seed, data=data, quick=quick, json=json)


app.command()(simulate)
app.add_typer(study, name="study")

compose = typer.Typer(help="The demonstration's steps for containers (docker-compose.yml).")
app.add_typer(compose, name="compose")

MinerOption = Annotated[str, typer.Option(help="The miner's URL.")]
AdminOption = Annotated[Path, typer.Option(help="File with the admin token.")]


@compose.command()
def organize(
    root: Annotated[
        Path, typer.Option(help="Folder for the files; those of each owner are in sites/OWNER.")
    ],
    miner: MinerOption,
    admin_token_file: AdminOption,
    records: Annotated[int, typer.Option(help="Records to draw.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data.")] = 1,
) -> None:
    """Open the study and write each owner's table, site file and invitation."""
    from pramana.demo.run import organize as organize_study

    scenario = _scenario(records, seed)
    organize_study(root, scenario, miner, admin_token_file, seed=seed)
    console().print(f"The owners' files are in {root / 'sites'}.", soft_wrap=True)


@compose.command()
def conclude(
    root: Annotated[Path, typer.Option(help="Folder for the result and the report.")],
    miner: MinerOption,
    admin_token_file: AdminOption,
) -> None:
    """Learn from the owners' releases, compare with the truth, and write result and report."""
    from pramana.demo.run import finish

    report = finish(
        root,
        _scenario(None, None),
        miner,
        admin_token_file,
        say=lambda what, _share: console(stderr=True).print(what),
    )
    print_report(report, console(), console(stderr=True))
    console().print(f"Report  {root / 'report.html'}", soft_wrap=True)


def _scenario(records: int | None, seed: int | None) -> Scenario:
    import numpy as np

    from pramana import setups
    from pramana.demo.scenario import from_network

    rng = np.random.default_rng(None if seed is None else [seed, 0])
    return from_network(setups.RECORDS if records is None else records, rng)


EXAMPLES = {
    "demo": "demo --seed 1",
    "study run": "study run bayes-classifier --target class --set model=naive-bayes --wait",
    "reproduce": "reproduce ma-3.1 --quick",
    "simulate": "simulate decision-tree --table adult.csv --target income --p 0.2",
    "study fetch": "study fetch m-35bca85286a7 --out classifier.json",
    "study predict": "study predict m-35bca85286a7 held-out.csv --record-id id",
    "study show": "study show --json",
    "study kinds": "study kinds decision-tree",
    "study watch": "study watch j-35bca85286a7",
    "study cancel": "study cancel j-35bca85286a7",
    "study jobs": "study jobs",
    "study models": "study models --json",
    "compose organize": "compose organize --root /study --miner http://miner:8000"
    " --admin-token-file admin.token",
    "compose conclude": "compose conclude --root /study --miner http://miner:8000"
    " --admin-token-file admin.token",
}
"""The example in each command's `--help`; the program's help shows the first."""

with_examples(app, "pramana", EXAMPLES)


def main() -> None:
    """Run the command."""
    run(app)
