"""The report on a plan: what its release would reveal, and how accurate estimates would be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from owner_agent.release.delivery import require_agreed_by
from owner_agent.release.publish import PreparedRecords
from owner_agent.report.corrected import Corrected
from owner_agent.report.losses import Losses, after, losses_by
from owner_agent.report.measures import (
    ALARMING,
    HIGH,
    block_row,
    bounds,
    holds_sensitive,
    together,
    variable_row,
)
from owner_agent.report.study import StudyForecast, study_json, study_sections
from owner_agent.site.adopting import AdoptedPlan, adopted_json, study_sentences
from owner_agent.site.planning import PlannedSite
from owner_agent.site.protection import share_proven
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from pramana_core.alike import first_few
from pramana_core.errors import BudgetExceeded, OptionError
from pramana_core.pictures.svg import short
from pramana_core.plan import Block
from pramana_core.privacy import (
    DELTA,
    PRIOR,
    Amplification,
    ShuffledReport,
    gamma_within_groups,
)
from pramana_core.progress import Progress, StagedProgress, unwatched
from pramana_core.report.numbers import belief, bound, count, percent
from pramana_core.report.report import Column, Fact, Report, Row, Section, Sentence, Table
from pramana_core.wire.privacy import CentralMessage

LISTED_SHARES = 12
"""Largest sampled block, in variables, whose shares are listed."""

PAGE = "plan.html"


def report(
    plan: PlannedSite,
    records: int,
    losses: Losses | None = None,
    corrected: Corrected | None = None,
    study: StudyForecast | str | None = None,
    tick: Progress = unwatched,
    more: Sequence[str] = (),
    central: CentralMessage | None = None,
) -> Report:
    """Return the report on a plan for a count of records. Raises OptionError, LimitExceeded."""
    if records < 1:
        raise OptionError(
            f"The count of records must be at least 1, not {records}.", where="records"
        )
    blocks = plan.plan.blocks
    variables, rows = [], []
    for done, block in enumerate(blocks, start=1):
        limits = bounds(Amplification.of(block.channel), gamma_within_groups(block.channel))
        variables += [variable_row(plan, block, name, records, limits) for name in block.names]
        rows.append(block_row(plan, block, records, limits))
        tick(done, len(blocks))
    sensitive = [row["name"] for row in rows if row["sensitive"]]
    whole, adopted = together(plan), plan.adopted
    numbers = {
        "records": records,
        "plan_digest": plan.plan.digest,
        "rho_1": PRIOR,
        "variables": variables,
        "blocks": rows,
        "together": {"blocks": sensitive, **bounds(whole)},
        "central": None if central is None else central.model_dump(),
        "ledger": None if losses is None else losses.as_dict(),
        "corrections": None if corrected is None else corrected.as_dict(),
        **study_json(study),
        "study_plan": adopted_json(adopted),
        "warnings": [*warnings(plan), *more],
    }
    sections = [
        _summary(numbers, whole, central, study),
        _bounds_of_variables(variables),
        *_together(rows, variables, records),
        *([] if losses is None else [losses.section()]),
        *([] if corrected is None else [corrected.section()]),
        *adopted_sections(adopted),
        *study_sections(study),
    ]
    foot = f"Plan {plan.plan.digest}. The JSON file next to this page has the same numbers."
    return Report("what publishing would reveal", sections, numbers, foot)


def adopted_sections(adopted: AdoptedPlan | None) -> list[Section]:
    """Return the section on the study's plan, or an empty list without a study plan."""
    if adopted is None:
        return []
    note = (
        "The bound holds whatever the dependence between variables, and against an attacker who"
        " knows which variables a record reports, provided that all owners follow the plan. The"
        " miner, or every owner in a session of peers, rejects other releases."
    )
    return [Section("The plan of the whole study", list(study_sentences(adopted)), notes=[note])]


def _summary(
    numbers: Mapping[str, Any],
    loss: Amplification,
    central: CentralMessage | None,
    study: StudyForecast | str | None,
) -> Section:
    variables = numbers["variables"]
    sensitive = sum(row["sensitive"] for row in variables)
    facts = [
        Fact(count(numbers["records"]), "records"),
        Fact(f"{sensitive} of {len(variables)}", "variables are sensitive"),
    ]
    if sensitive:
        epsilon = "local epsilon of all sensitive variables of a record together (gamma"
        grows = (
            f"upper limit to which a belief of {percent(PRIOR)} about sensitive variables can grow"
            " by a"
        )
        facts += [
            Fact(bound(loss.epsilon), f"{epsilon} {loss.written_gamma})"),
            Fact(belief(loss, PRIOR), f"{grows} whole record's report"),
        ]
    if central is not None and central.epsilon is not None:
        caption = (
            f"central epsilon of this release at delta {central.delta:g}, against an attacker who"
            f" cannot attribute reports among {count(central.records)} equivalent records"
        )
        facts.append(Fact(bound(central.epsilon), caption))
        if central.known_set is not None:
            caption = "the same, if the attacker knows which set of variables the record reports"
            facts.append(Fact(bound(central.known_set), caption))
    if isinstance(study, StudyForecast):
        facts.append(study.fact)
    if known := [row["half_width"] for row in variables if row["half_width"] is not None]:
        facts.append(Fact(f"± {percent(max(known))}", "the widest 95 % interval of a proportion"))
    besides = (
        "The page also counts records whose values were corrected since their report."
        if (numbers["corrections"] or {}).get("blocks")
        else "The page contains nothing else from the table."
    )
    lead = (
        "Computed from the plan and the number of records, for an attacker to whom all categories"
        f" are equally likely. {besides} The plan also protects the shares of categories in a "
        "sensitive column, so the page uses no shares from the table. You may share this page."
    )
    sentences = [Sentence(lead, "note", brief=False)]
    sentences += [Sentence(words, "warning") for words in numbers["warnings"]]
    notes = (
        []
        if central is None
        else [
            _CENTRAL if central.epsilon is not None else f"This page states {central.description}"
        ]
    )
    return Section(facts=facts, sentences=sentences, notes=notes)


_CENTRAL = (
    "The local bound holds against an attacker who can attribute reports to people: an owner, or"
    " a miner that conspires with an owner. The central bound holds against the miner alone, an"
    " analyst and the public, even if they know all other records, provided that the linkage"
    " secret and the draw keys remain secret."
)


def _bounds_of_variables(variables: Sequence[Row]) -> Section:
    def named(row: Row) -> str:
        return f"{row['name']}{'' if row['sensitive'] else ' (public)'}"

    first = {row["block"]: row["name"] for row in reversed(variables)}

    def channel(row: Row) -> str:
        return str(row["channel"]) if first[row["block"]] == row["name"] else "same block"

    def gamma(row: Row) -> str:
        grouped = row["gamma"] is None and row["gamma_within_groups"] is not None
        return bound(row["gamma"]) + (
            f"\n{bound(row['gamma_within_groups'])} in group" if grouped else ""
        )

    alone = f"block alone\n{percent(PRIOR)} grows\nat most to"
    columns = (
        Column("variable", named, number=False),
        Column("channel", channel, number=False),
        Column("gamma", gamma, brief=False),
        Column("epsilon", lambda row: bound(row["epsilon"]), brief=False),
        Column(
            alone,
            lambda row: belief(Amplification.of_gamma(row["gamma"] or math.inf), PRIOR),
            high=lambda row: row["sensitive"] and row["rho_2"] >= HIGH,
        ),
        Column("best guess right\nbefore → after", _guess, brief=False),
        Column("95 %\ninterval", lambda row: _interval(row["half_width"])),
    )
    meaning = (
        "Each bound is for the report of the variable's own block. If variables depend on each"
        " other, other blocks reveal more about the variable. The bound on all sensitive "
        "variables, above, includes this disclosure."
    )
    more = (
        "Gamma bounds the ratio of a report's probabilities under any two true values; epsilon is"
        " its logarithm; ∞ means that some report excludes a true value, – that a figure cannot be"
        " computed. Variables of the same block have the block's gamma, which bounds their joint"
        " disclosure. Public columns are released unchanged; no bound covers what they reveal about"
        " a sensitive variable. The interval is for the least accurate proportion, whatever the"
        " true shares."
    )
    table = Table(columns, variables, quiet=lambda row: not row["sensitive"])
    notes = [more, *_without_interval(variables)]
    return Section("Each variable", [Sentence(meaning, "note")], table, notes=notes)


def _without_interval(variables: Sequence[Row]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for row in variables:
        if why := row["unavailable"].get("standard_error"):
            reasons.setdefault(why, []).append(row["name"])
    for why, names in reasons.items():
        yield f"No interval for {first_few(names, 3)}: {why}"


def _together(blocks: Sequence[Row], variables: Sequence[Row], records: int) -> Iterator[Section]:
    """Yield a section on blocks of several variables and on channels that need an explanation."""
    rows = [row for row in blocks if len(row["variables"]) > 1 or row["choices"]]
    if not rows:
        return
    columns = (
        Column("block", lambda row: short(row["name"], 60), number=False),
        Column("channel", lambda row: row["channel"], number=False),
        Column("combinations", lambda row: count(row["combinations"])),
        Column("gamma", lambda row: bound(row["gamma"])),
        Column("epsilon", lambda row: bound(row["epsilon"])),
        Column("best guess right\nbefore → after", _guess),
    )
    yield Section(
        "Variables randomized together, and special schemes",
        table=Table(columns, rows),
        notes=[_shares(row, variables, records) for row in rows if row["choices"]],
        brief=False,
    )


def _shares(row: Row, variables: Sequence[Row], records: int) -> str:
    shares = (
        f"{one['name']} by {percent(one['records_reporting'] / records)}"
        for one in variables
        if one["block"] == row["name"]
    )
    note = f"Each record reports one of {len(row['choices']):,} subsets of {row['name']}. Reported"
    listed = first_few(shares, LISTED_SHARES)
    return f"{note} are {listed} of the records; the JSON file has all subsets."


def _guess(row: Row) -> str:
    before, after = row["guess_blind"], row["guess_expected"]
    return "–" if before is None else f"{percent(before)} → {percent(after)}"


def _interval(half_width: float | None) -> str:
    return "–" if half_width is None else f"± {percent(half_width)}"


def warnings(plan: PlannedSite) -> tuple[str, ...]:
    """Return a sentence for each risk that the custodian must know before approving a plan."""
    blocks = [block for block in plan.plan.blocks if holds_sensitive(plan, block)]
    alone = [
        _warning(block, name, loss)
        for block in blocks
        if (loss := Amplification.of(block.channel)).grown(PRIOR) >= ALARMING
        for name in block.names
        if name in plan.sensitive
    ]
    if len(blocks) > 1 and (loss := together(plan)).grown(PRIOR) >= ALARMING:
        alone.append(
            f"If the variables of {len(blocks)} blocks depend on each other, the reports of "
            f"these blocks together can turn a belief of {percent(PRIOR)} about a sensitive "
            f"variable into {percent(ALARMING)} or more (gamma {loss.written_gamma})."
        )
    mixed = [block for block in blocks if not plan.sensitive.issuperset(block.names)]
    return (*alone, *(_mixed(plan, block) for block in mixed))


def _warning(block: Block, name: str, loss: Amplification) -> str:
    proven = share_proven(block, name)
    if proven > 0:
        return (
            f"{name} is sensitive, and some of its reports prove its value, for up to"
            f" {100 * proven:.4g}% of the records with that value."
        )
    if loss.gamma == float("inf"):
        return f"{name} is sensitive, and some of its reports exclude a value with certainty."
    return (
        f"{name} is sensitive, and some report can turn a belief of {percent(PRIOR)} about it into"
        f" {percent(ALARMING)} or more (gamma {bound(loss.gamma)})."
    )


def _mixed(plan: PlannedSite, block: Block) -> str:
    public = [name for name in block.names if name not in plan.sensitive]
    redrawn = [name for name in block.names if name in plan.sensitive]
    return (
        f"{first_few(public)} {'is' if len(public) == 1 else 'are'} public but in a block with"
        f" {first_few(redrawn)}: a record whose public value changes between two releases counts"
        " as corrected, and keeps its whole report unless all records are randomized again."
    )


def equal_column_lines(
    one_secret: Mapping[str, Sequence[str]], losses: Losses | None = None
) -> list[str]:
    """Return a sentence for each randomized column with the same values as other columns."""
    sums = {} if losses is None else {row["column"]: after(row) for row in losses.columns}
    return [
        f"Column {column!r} and {first_few(map(repr, others))} have equal values, so they "
        "are one secret and their losses add"
        f"{f' to epsilon {sums[column]}' if column in sums else ''}. Omit one of these columns, "
        "or put their variables into one block."
        for column, others in one_secret.items()
        if column < min(others)
    ]


def report_of(
    site: Site,
    study: StudyForecast | str | None,
    now: PreparedRecords,
    watch: StagedProgress = lambda _stage, _done, _total: None,
) -> Report:
    """Return the report on publishing a site's records. Raises OptionError, LimitExceeded."""
    losses = losses_by(now)
    corrected = Corrected.of(now, site.file.corrections)
    more = equal_column_lines(now.one_secret, losses)
    tick = partial(watch, "measuring")
    delta = study.forecast.before.budget.stated_delta if isinstance(study, StudyForecast) else DELTA
    central = central_of(site, now, delta)
    return report(now.plan, now.records, losses, corrected, study, tick, more, central)


def central_of(site: Site, now: PreparedRecords, delta: float = DELTA) -> CentralMessage:
    """Return the central bound if this is a site's only release, or why the bound is not stated."""
    if site.file.peer is not None:
        return CentralMessage(unstated="peers can attribute the reports that they receive.")
    study = "" if site.file.miner is None else site.miner.study
    before = (e for e in now.entries if e.left and e.study in ("", study))
    if any(entry.content != now.identity for entry in before):
        return CentralMessage(
            unstated="earlier releases also count; the privacy page of the study has the sum."
        )
    if any(block.channel.is_identity for block in now.plan.plan.blocks):
        # Groups by public values would show more of the table than this page may.
        return CentralMessage(
            unstated="public columns distinguish records; the privacy page of the study has it."
        )
    return CentralMessage.of(ShuffledReport.of(now.plan.plan), now.records, delta)


def require_accepted(
    site: Site, plan: PlannedSite, environment: Environment, forecast: StudyForecast | str | None
) -> None:
    """Raise in advance the miner's errors BudgetExceeded, StudyPlanNotFollowed, LinkageDiffers."""
    if isinstance(forecast, StudyForecast) and forecast.forecast.refused is not None:
        require_agreed_by(site, plan.adopted, environment)
        raise BudgetExceeded(forecast.forecast.refused, where=forecast.study)


def separate_release_lines(site: Site) -> list[str]:
    """Return sentences on [mask] and [share_model], which are released by separate commands."""
    lines = []
    if site.file.mask is not None:
        lines.append(
            f"This report does not cover masked columns ({', '.join(site.file.mask.confidential)}):"
            " `owner-agent mask` reports on them, and `owner-agent mask --publish` sends them."
        )
    if site.file.share_model is not None:
        lines.append(
            f"This report does not cover the tree of {site.file.share_model.target.column}:"
            " `owner-agent share-model` shows it, and `owner-agent share-model --publish` sends it."
        )
    return lines
