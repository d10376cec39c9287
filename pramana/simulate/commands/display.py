"""Reports of simulations: the setting, the results and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.simulate.learners import spread_table
from pramana_core.report.numbers import plural
from pramana_core.report.report import Report, Section, Sentence

if TYPE_CHECKING:
    from pramana.simulate.model_sharing_options import SimulationOptions
    from pramana.simulate.model_sharing_simulation import Simulation
    from pramana.simulate.study import Outcome, Trials


def report_of(outcome: Outcome) -> Report:
    """Return the report of the runs of a learner."""
    trials, found = outcome.trials, outcome.as_dict()
    title = (
        f"{trials.source.name}: {len(trials.source.domain)} variables, {trials.records:,} records,"
        f" {plural(trials.runs, 'run')}, {_randomization(trials)}"
    )
    sections = list(outcome.kind.sections(found, trials))
    if warned := outcome.warned:
        words = f"In {len(warned)} of {len(outcome.fits)} runs: {warned[0]}"
        sections.append(Section(sentences=[Sentence(words, "warning")]))
    if trials.source.note:
        sections.append(Section(sentences=[trials.source.note]))
    return Report(title, sections, found)


def _randomization(trials: Trials) -> str:
    bounds = f"{trials.amplification.told} about the whole record, {trials.central.description}"
    if trials.design is None:
        return bounds
    study = trials.design.study_plan
    owners = "" if study is None else f" over {len(study.owners)} owners"
    return f"design {trials.design.chosen.family}{owners}, {bounds}"


_SHARED = {
    "accuracy": "right",
    "class_match": "the class of the global basis model",
    "path_match": "paths shared with the global basis tree",
    "basis_accuracy": "accuracy of the global basis model",
    "majority": "accuracy of the most frequent class",
    "leaves": "leaves of a released tree",
}


def sharing_report(outcome: Simulation) -> Report:
    """Return the report of a simulation of shared trees, with means over all folds."""
    options, table, found = outcome.options, outcome.table, outcome.as_dict()
    title = (
        f"{table.name}: {table.records.records:,} records, target {table.target},"
        f" {plural(options.owners, 'owner')}, {options.method}, global {options.model},"
        f" {_requirement(options)}, {plural(options.runs, 'run')} of {options.folds} folds"
    )
    sentences = [Sentence("sd is the standard deviation over all folds of all runs.")]
    if outcome.refused:
        advice = "" if options.by == "growing" else " With by=growing splits can meet it."
        words = f"{outcome.refused} of {found['trees']} trees could not meet the requirement"
        sentences.append(Sentence(f"{words} and were not released.{advice}", "warning"))
    if outcome.without_model:
        words = f"In {outcome.without_model} of {len(outcome.folds)} folds nothing was released"
        sentences.append(Sentence(f"{words}: they predict the most frequent class.", "warning"))
    if table.note:
        sentences.append(Sentence(table.note))
    sections = [
        Section(table=spread_table("share of held-out records", _SHARED, found)),
        Section(sentences=sentences),
    ]
    return Report(title, sections, found)


def _requirement(options: SimulationOptions) -> str:
    requirement = options.requirement
    if options.epsilon is not None:
        return f"epsilon {options.epsilon:g}"
    if requirement is None:
        return "unpruned"
    limits = (("k", requirement.k), ("c", requirement.c), ("l", requirement.l))
    return ", ".join(f"{name} {limit:g}" for name, limit in limits if limit)
