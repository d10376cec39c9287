"""The command `design`, which compares ways to randomize a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from owner_agent.cli.options import SITE, JsonOption, SiteOption, write_changes
from pramana_core.errors import OptionError
from pramana_core.terminal import console, print_json, progress_bar

LearningGoal = Literal["counts", "pairs", "itemsets", "structure", "tree", "classifier"]


def design(
    parts: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PART]...",
            help="For a joint plan: the public parts of all owners' site files.",
        ),
    ] = None,
    site: SiteOption = SITE,
    gamma: Annotated[
        float | None, typer.Option(help="The largest gamma allowed for a whole record.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Instead of --gamma: the largest epsilon allowed for a whole record."),
    ] = None,
    central_epsilon: Annotated[
        float | None,
        typer.Option(
            help="The largest epsilon that the plan may state against readers who cannot attribute "
            "reports to people."
            " --gamma, by default 10,000, also applies."
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="The probability that --central-epsilon fails; default 1e-8."),
    ] = None,
    breach: Annotated[
        tuple[float, float] | None,
        typer.Option(
            help="Instead of --gamma: two probabilities. No report may raise a belief "
            "from at most the first to the second or more."
        ),
    ] = None,
    learn: Annotated[
        LearningGoal, typer.Option(help="What the miner will learn from the reports.")
    ] = "pairs",
    length: Annotated[
        int | None, typer.Option(help="The length of the longest itemsets to learn.")
    ] = None,
    minimum_support: Annotated[
        float,
        typer.Option(help="Ignore cells of tables with a smaller expected share of the records."),
    ] = 0.0,
    records: Annotated[
        int | None, typer.Option(help="The number of records; default: the table's.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The variable that a classifier or tree predicts.")
    ] = None,
    family: Annotated[
        str | None, typer.Option(help="Choose this family of channels instead of the best one.")
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write the plan into the site file after you confirm.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Write without confirmation.")] = False,
    write_study_plan: Annotated[
        Path | None,
        typer.Option(help="A new JSON file for the plan of a study with several owners."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare all ways to randomize by their predicted errors.

    From the table, the command needs only the count of records; all other input is in the site
    file. Owners with different variables of the same people design a joint plan from the public
    parts of their site files: owner-agent design PART... --gamma 19 --records N --write-study-plan
    FILE.
    """
    from owner_agent.cli.designs_shown import (
        central_of,
        recommendation,
        show_design,
        show_next_step,
    )
    from owner_agent.design.parts import variables_of_parts
    from owner_agent.design.site_text import site_with, study_plan_text
    from owner_agent.site.planning import planned, without_protection
    from owner_agent.site.site import load_site
    from owner_agent.state.private_files import COMMON_MODE, save
    from owner_agent.table.table import read_table
    from pramana_core.design import Problem, Requirements, find_design, goal
    from pramana_core.domain import Domain
    from pramana_core.privacy import CentralLoss
    from pramana_core.wire.base import MAX_RECORDS

    public, owners = list[str](), dict[str, tuple[str, ...]]()
    if parts:
        opened = None
        domain, owners = variables_of_parts(parts)
    else:
        opened = load_site(site)
        domain = Domain(tuple(planned(without_protection(opened)).variables.values()))
        public = [v.name for v in opened.file.variables if not v.sensitive]
        if records is None:
            records = read_table(opened.table, [opened.file.record_id]).rows
    if records is None or records > MAX_RECORDS:
        raise OptionError(
            f"The count of records is unknown or above {MAX_RECORDS:,}.",
            where="records",
            remedy=f"Give --records with a number up to {MAX_RECORDS:,}.",
        )
    central = CentralLoss.of(central_epsilon, delta)
    needs = Requirements.of(domain, gamma, epsilon, breach, public, owners, central)
    wanted = goal(domain, learn, length=length, minimum_support=minimum_support, target=target)
    with progress_bar() as bar:
        made = find_design(
            Problem(needs, wanted, records),
            family,
            lambda name, done, total: bar.stage(f"predicting {name}", done, total),
        )
    if apply and opened is None:
        raise OptionError(
            "A plan of several owners cannot be written into one site file.",
            where="apply",
            remedy="Write the plan with --write-study-plan; `owner-agent join` adds it to each"
            " owner's site file.",
        )
    extended = site_with(made, opened, site) if apply and opened is not None else None
    if write_study_plan is not None:
        save(write_study_plan, study_plan_text(made).encode(), "write-study-plan", COMMON_MODE)
    words = recommendation(made, learn, delta)
    if json:
        print_json(
            {
                **made.as_dict(),
                "central": central_of(made, delta).model_dump(),
                "recommendation": words,
            }
        )
    else:
        show_design(console(), made)
        console().print(words, markup=False, style="bold")
    applied = extended is not None and write_changes(extended, yes=yes, show=not json)
    if not json:
        show_next_step(console(), write_study_plan, made.study_plan, applied=applied)
