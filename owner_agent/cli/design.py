"""`owner-agent design`: which way to randomize serves a need best."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from owner_agent.cli.options import (
    SITE,
    JsonOption,
    RecordsOption,
    SiteOption,
    require_countable,
)
from pramana_core.terminal import console, print_json, progress_bar


class LearningGoal(StrEnum):
    """What the analyst will learn."""

    counts = "counts"
    pairs = "pairs"
    itemsets = "itemsets"
    structure = "structure"
    tree = "tree"
    classifier = "classifier"


def design(
    parts: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PART]...",
            help="The public parts of all owners' site files, for one plan of them together.",
        ),
    ] = None,
    spec: Annotated[
        Path | None, typer.Option(help="A design file; without one, the site file's variables.")
    ] = None,
    site: SiteOption = SITE,
    gamma: Annotated[
        float | None, typer.Option(help="The largest gamma about a whole record.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The largest epsilon instead.")] = None,
    breach: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Instead: no belief of the first may grow to the second."),
    ] = None,
    learn: Annotated[LearningGoal | None, typer.Option(help="What will be learned.")] = None,
    length: Annotated[int | None, typer.Option(help="The longest itemset.")] = None,
    minimum_support: Annotated[
        float | None, typer.Option(help="Cells of a smaller expected share do not count.")
    ] = None,
    records: RecordsOption = None,
    target: Annotated[
        str | None, typer.Option(help="The variable that a classifier or tree predicts.")
    ] = None,
    family: Annotated[str | None, typer.Option(help="Choose this one instead of the best.")] = None,
    write: Annotated[
        Path | None, typer.Option(help="A new file for the variables and blocks chosen.")
    ] = None,
    write_study_plan: Annotated[
        Path | None,
        typer.Option(help="A new file for the plan of a study of several owners (JSON)."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare all ways to randomize by their predicted errors; nothing is read but a count.

    Owners who know different things of the same people design one plan together, from the public
    parts of their site files: owner-agent design PART... --write-study-plan FILE. They are read,
    and no site file and no table.
    """
    from owner_agent.cli.designs_shown import show_design, show_design_written
    from owner_agent.design.design_file import load_design, of_site, site_variables
    from owner_agent.design.designing import DesignArguments, problem_of
    from owner_agent.design.parts import design_of_parts
    from owner_agent.design.site_text import (
        entries_of_file,
        entries_of_site,
        site_text,
        study_plan_text,
    )
    from owner_agent.site.site import load_site
    from owner_agent.state.private_files import COMMON_MODE, save
    from owner_agent.table.table import read_table
    from pramana_core.design import find_design
    from pramana_core.domain import Variable
    from pramana_core.errors import OptionError

    require_countable(records)
    if parts and spec is not None:
        raise OptionError(
            "Give public parts or --spec, not both.",
            where="spec",
            remedy="A design file names the variables itself, each with its owner.",
        )
    known: Mapping[str, Variable] = {}
    if parts:
        file = design_of_parts(parts)
        entries = entries_of_file(file)
    elif spec is not None:
        file = load_design(spec)
        entries = entries_of_file(file)
    else:
        opened = load_site(site)
        file, known, entries = of_site(opened), site_variables(opened), entries_of_site(opened)
        if records is None:
            records = read_table(opened.table, [opened.file.record_id]).rows
    kind = None if learn is None else learn.value
    asked = (gamma, epsilon, breach, kind, length, minimum_support, records)
    problem = problem_of(DesignArguments(*asked, target=target).over(file), known)
    with progress_bar() as bar:
        made = find_design(
            problem, family, lambda name, done, total: bar.stage(f"predicting {name}", done, total)
        )
    if write is not None:
        save(write, site_text(made, entries).encode(), "write", COMMON_MODE)
    if write_study_plan is not None:
        text = study_plan_text(made)
        save(write_study_plan, text.encode(), "write-study-plan", COMMON_MODE)
    if json:
        print_json(made.as_dict())
        return
    show_design(console(), made)
    show_design_written(console(), write, write_study_plan, made.study_plan)
