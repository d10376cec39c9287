"""What `owner-agent design` does, apart from the command line: only that command loads it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from owner_agent.cli.design_display import design_progress, show_design, show_design_written
from owner_agent.costs.study_display import left_json, show_left
from owner_agent.costs.whole_study import left_in_study
from owner_agent.design.design_file import load_design, of_site, site_variables
from owner_agent.design.designing import Wishes, design, problem_of
from owner_agent.design.snippet import entries_of_file, entries_of_site, save, snippet
from owner_agent.site.site import load_site
from owner_agent.state.surroundings import Surroundings
from owner_agent.table.table import read_table
from shared.terminal import console, print_json


def run_design(
    sources: tuple[Path | None, Path],
    wishes: Wishes,
    study: Surroundings | None,
    asked: tuple[float | None, str | None],
    write: Path | None,
    json: bool,
) -> None:
    """Compare the designs for a need and say which is best.

    Args:
        sources: the design file, if one was given, and the site file.
        wishes: what the flags ask for; they go before the file.
        study: where the site's miner is asked what the study leaves; None: it is not asked.
        asked: the target of the reverse questions and the family to choose, if any.
        write: a new file for the variables and blocks chosen.
        json: print JSON instead of tables.

    Raises:
        InputError: the files are wrong, or nothing can meet what they ask.
        Unauthenticated, Refused, Unreachable: the miner could not be asked.
    """
    (spec, site_path), (target, family) = sources, asked
    if spec is None:
        site = load_site(site_path)
        file, known, entries = of_site(site), site_variables(site), entries_of_site(site)
        if wishes.records is None:
            wishes = replace(wishes, records=read_table(site.table, [site.file.record_id]).rows)
    else:
        file = load_design(spec)
        known, entries = {}, entries_of_file(file)
    if study is not None:
        sensitive = [v.name for v in file.variables if v.sensitive]
        wishes = replace(wishes, left=left_in_study(load_site(site_path), sensitive, study))
    problem = problem_of(wishes.over(file), known)
    with design_progress(console(stderr=True)) as watch:
        made = design(problem, target, family, watch)
    if write is not None:
        save(write, snippet(made.chosen, problem.needs, entries))
    if json:
        print_json({**made.as_dict(), **left_json(wishes.left)})
        return
    show_left(console(), wishes.left)
    show_design(console(), made)
    show_design_written(console(), write)
