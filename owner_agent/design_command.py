"""What `owner-agent design` does, apart from the command line: only that command loads it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from owner_agent.design_display import design_progress, show_design, show_design_written
from owner_agent.design_file import load_design, of_site, site_variables
from owner_agent.design_snippet import entries_of_file, entries_of_site, save, snippet
from owner_agent.designing import Wishes, design, problem_of
from owner_agent.site import load_site
from owner_agent.table import read_table
from shared.terminal import console, print_json


def run_design(
    sources: tuple[Path | None, Path],
    wishes: Wishes,
    asked: tuple[float | None, str | None],
    write: Path | None,
    json: bool,
) -> None:
    """Compare the designs for a need and say which is best.

    Args:
        sources: the design file, if one was given, and the site file.
        wishes: what the flags ask for; they go before the file.
        asked: the target of the reverse questions and the family to choose, if any.
        write: a new file for the variables and blocks chosen.
        json: print JSON instead of tables.

    Raises:
        InputError: the files are wrong, or nothing can meet what they ask.
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
    problem = problem_of(wishes.over(file), known)
    with design_progress(console(stderr=True)) as watch:
        made = design(problem, target, family, watch)
    if write is not None:
        save(write, snippet(made.chosen, problem.needs, entries))
    if json:
        print_json(made.as_dict())
        return
    show_design(console(), made)
    show_design_written(console(), write)
