"""What people see of what was found wrong, and of what left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.costs.measures import draw_text, loss_text
from owner_agent.departures.composition import Unbounded, left_draws, renamed, spent
from owner_agent.masking.page import measured
from owner_agent.masking.words import LETTERS
from owner_agent.model_sharing.report import tree_text
from pramana_core.wire.releases.base import KNOWLEDGE

if TYPE_CHECKING:
    from owner_agent.departures.ledger import Entry
    from owner_agent.masking.publishing import MaskOutcome
    from owner_agent.masking.report import MaskReport
    from owner_agent.model_sharing.publishing import ShareOutcome
    from owner_agent.model_sharing.report import TreeReport
    from owner_agent.release.new_epoch import NewEpoch
    from owner_agent.release.publish import PublishOutcome
    from pramana_core.audit.verifying import Anchor


def show_warnings(console: Console, warnings: Sequence[str]) -> None:
    """Print what a plan's reports could prove about somebody."""
    for warning in warnings:
        console.print(f"warning: {escape(warning)}", style="bold yellow")


def show_outcome(console: Console, outcome: PublishOutcome) -> None:
    """Print what a publication ended with."""
    done = "is already sealed; nothing was sent" if outcome.already else "is sealed"
    console.print(
        f"Release {outcome.name} {done}: {outcome.records:,} records in {outcome.parts}"
        f" part{'s' if outcome.parts > 1 else ''}, digest {outcome.digest[:12]}.",
        soft_wrap=True,
    )
    if not outcome.asked:
        console.print(
            "Its folder was removed from the outbox, so the miner was not asked whether it still"
            " has the release, and could not get it again.",
            soft_wrap=True,
        )
    if outcome.renewed:
        console.print(
            f"All records of {', '.join(outcome.renewed)} were drawn anew; the ledger has the added"
            " epsilon.",
            markup=False,
            soft_wrap=True,
        )
    if outcome.stale:
        console.print(
            f"{outcome.stale:,} records keep the report of a value that was corrected since.",
            markup=False,
            soft_wrap=True,
        )


def show_new_epoch(console: Console, begun: NewEpoch) -> None:
    """Print what a new epoch begins with, and what nobody could tell."""
    named = ", ".join(entry.name for entry in begun.counted)
    many = "" if len(begun.counted) == 1 else "s"
    asked = (
        f"Counted as published: {len(begun.counted)} release{many} that the miner has ({named})."
    )
    if not begun.counted:
        asked = "The miner has nothing that the ledger does not know."
    if not begun.asked:
        asked = "No miner was asked: this site has none, or has not joined its study."
    lines = [asked]
    if begun.losses:
        told = "; ".join(f"{c}: epsilon {loss:.4g}" for c, loss in begun.losses.items())
        lines.append(f"What is known to have left: {told}.")
    if begun.uncounted:
        lines.append(
            f"The audit log has {', '.join(begun.uncounted)} besides; what they cost is not known."
        )
    lines.append(
        "What left to peers, to other miners or in other studies, and is not in the ledger, could"
        " not be counted. From here on all records are drawn anew: `owner-agent publish` says what"
        " that adds, and --accept-added-loss accepts it."
    )
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def inconsistency(outcome: PublishOutcome) -> list[str]:
    """Return the warning that a release does not fit its plan, if the miner says so."""
    said = outcome.consistency
    if said is None or said.state != "inconsistent" or said.p_value is None:
        return []
    # The estimators come with it, and no other command needs them.
    from pramana_core.estimation.plausibility.examination import RATE

    found = (
        f"the miner finds that the reports of {', '.join(said.variables)} do not fit the transition"
        f" matrices they were sent with (p = {said.p_value:.2g}). Of releases made by their plan at"
        f" most one in {1 / RATE:,.0f} looks so. Another version of the agent may have made this"
        " one, with other matrices than it declares, or a column may have been sent as it was. The"
        " release is sealed, and whoever uses it is warned; withdraw it if you find the cause."
    )
    return [found]


def changes(outcome: PublishOutcome) -> list[str]:
    """Return the warning that records are reported differently than before by the same draws."""
    changed = [one for one in outcome.repeated if one.changed]
    if not changed:
        return []
    each = ", ".join(
        f"{one.changed:,} of {one.records:,} in {'*'.join(one.variables)}" for one in changed
    )
    earlier = list(dict.fromkeys(name for one in changed for name in one.releases))
    found = (
        "the miner finds records that this release reports differently than earlier ones"
        f" ({', '.join(earlier)}) by the same draws: {each}. Whoever has these releases knows that"
        " these people's values changed, and no epsilon bounds that; the study's sums count the"
        " reports as drawn anew. What left cannot be called back. This agent did not know what it"
        " had reported: restore its state folder from your backup before you publish again."
    )
    return [found]


def found_wrong(outcome: PublishOutcome) -> list[str]:
    """Return what is to be told after a publication: of the release, and of the miner's log."""
    log_warning = [outcome.log_warning] if outcome.log_warning else []
    return inconsistency(outcome) + changes(outcome) + log_warning


def show_anchors(console: Console, seen: Mapping[str, Sequence[Anchor]]) -> None:
    """Print what miners told of their audit logs."""
    if not seen:
        console.print("No miner has told the state of its audit log yet.")
    for miner, known in seen.items():
        console.print(miner, markup=False, style="bold")
        for anchor in known:
            console.print(f"  {anchor.at}  {anchor}", markup=False, soft_wrap=True)


def show_ledger(console: Console, entries: Sequence[Entry]) -> None:
    """Print everything that left, and what each column has lost."""
    if not entries:
        console.print("Nothing has left this site.")
        return
    table = Table(title="Releases")
    table.add_column("prepared (UTC)")
    table.add_column("study", overflow="fold")
    table.add_column("release", overflow="fold")
    table.add_column("state")
    table.add_column("records", justify="right")
    table.add_column("plan")
    table.add_column("variables: epsilon", overflow="fold")
    for entry in entries:
        table.add_row(
            f"{entry.prepared:%Y-%m-%d %H:%M}",
            escape(entry.study),
            entry.name,
            entry.state,
            f"{entry.records:,}",
            escape(_how(entry)),
            escape(", ".join(f"{d.variable}: {draw_text(d)}" for d in entry.draws)),
        )
    console.print(table)
    losses = Table(title="Composed epsilon of everything that may have left")
    losses.add_column("column", overflow="fold")
    losses.add_column("epsilon", justify="right")
    unbounded = Unbounded.of(left_draws(entries))
    for column, epsilon in spent(entries).items():
        losses.add_row(escape(column), loss_text(epsilon, unbounded.forms(column)))
    console.print(losses)
    if unbounded.masked:
        console.print(
            "No epsilon bounds what masked values tell of a record, and no sum counts them; the"
            " report of `owner-agent mask` says what protects them.",
            markup=False,
            soft_wrap=True,
        )
    if unbounded.shared:
        console.print(
            "No epsilon bounds what a shared tree tells of a record unless it is a private one, and"
            " no sum counts it; `owner-agent share-model` says what such a tree promises.",
            markup=False,
            soft_wrap=True,
        )
    for column, others in renamed(entries).items():
        console.print(
            f"{escape(column)} has the values of {escape(', '.join(others))}: one secret, whose"
            " losses add.",
            soft_wrap=True,
        )


def _how(entry: Entry) -> str:
    """Say how what left was made: by a plan, by a masking method, or as a tree."""
    if entry.follows_plan:
        return entry.plan_digest[:12]
    return f"tree, {entry.method}" if entry.kind == KNOWLEDGE else f"masked by {entry.method}"


# What people see of a masked table, and of its release.

SHOWN = ("snooper-gain-kernel", "linkage-among-alike", "linkage", "told-largest")
"""The measures that are printed though nothing is wrong."""


def show_mask_report(console: Console, report: MaskReport) -> None:
    """Print what would be released, what protects it, and what it gives away."""
    chosen = report.made.chosen
    method, told = chosen.choice.method, ", ".join(chosen.table.told.names) or "nothing"
    how = "recommended for this table" if chosen.choice.recommendation else "named in the site file"
    copies = f", {chosen.copies} copies" if chosen.copies > 1 else ""
    console.print(
        f"{len(chosen.keys):,} records: {', '.join(chosen.table.confidential.names)} masked by"
        f" {method.name} ({how}{copies}); told as they are: {told}.",
        markup=False,
        soft_wrap=True,
    )
    advice = chosen.choice.recommendation
    console.print(method.keeps if advice is None else advice.sentence, markup=False, soft_wrap=True)
    show_warnings(console, report.cautions)
    for said in report.protection:
        console.print(f"* {said}", markup=False, soft_wrap=True)
    _show_judged(console, report)
    if report.leverage is not None:
        console.print(
            f"Largest weight of a record's own true value in its masked one: {report.leverage:.3g}."
            " The page names the records of which most is told.",
            markup=False,
            soft_wrap=True,
        )
    for loss in report.earlier:
        console.print(
            f"{loss.column} left before: epsilon {loss.texts[0]}, after this {loss.texts[1]}.",
            markup=False,
            soft_wrap=True,
        )


def _show_judged(console: Console, report: MaskReport) -> None:
    """Print what is given away: alarms, and the measures that say it best, each in words."""
    table = Table(box=SIMPLE, expand=True)
    table.add_column("of", overflow="fold", ratio=2)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("in words", ratio=7)
    for row in report.judged:
        if row.alarm or row.name in SHOWN:
            style = "bold yellow" if row.alarm else None
            value = measured(row.value, row.error)
            table.add_row(escape(row.about), value, escape(row.sentence), style=style)
    style = "bold yellow" if report.measures.alarms else "bold"
    console.print(report.verdict, style=style, soft_wrap=True)
    console.print(table)
    console.print(
        f"{LETTERS} ± is a standard error over records. The report and --json have all measures.",
        style="dim",
        soft_wrap=True,
    )


def show_masked_outcome(console: Console, outcome: MaskOutcome) -> None:
    """Print what a publication ended with."""
    done = "is already sealed; nothing was sent" if outcome.already else "is sealed"
    console.print(
        f"Release {outcome.name} {done}: {outcome.records:,} records masked by {outcome.method} in"
        f" {outcome.parts} part{'s' if outcome.parts > 1 else ''}, digest {outcome.digest[:12]}.",
        markup=False,
        soft_wrap=True,
    )
    if not outcome.asked:
        console.print(
            "Its folder was removed from the outbox, so the miner was not asked whether it still"
            " has the release, and could not get it again.",
            soft_wrap=True,
        )


# What people see of a tree that would leave, and of its release.

MOST_LINES = 24
"""So many lines of a tree are printed; the report has more."""


def show_tree_report(console: Console, loud: Console, report: TreeReport) -> None:
    """Print what would be released, what was given up for it, and what it promises.

    Args:
        console: where it is printed.
        loud: where what must not be overlooked is printed, too.
        report: what is printed.
    """
    made = report.now.made
    chosen = made.chosen
    console.print(
        f"{chosen.records:,} records: a tree of {chosen.schema.target.name} from"
        f" {', '.join(chosen.schema.names)}; {made.method}.",
        markup=False,
        soft_wrap=True,
    )
    for said in report.alarms:
        loud.print(f"WARNING: {said}", style="bold white on red", markup=False, soft_wrap=True)
    show_warnings(console, report.cautions)
    for said in made.message.protection:
        console.print(f"* {said}", markup=False, soft_wrap=True)
    _show_figures(console, report)
    if report.before is not None and made.grown is not None:
        _show_tree(console, "With nothing required", tree_text(made.grown, MOST_LINES))
    _show_tree(console, "What would leave", tree_text(made.tree, MOST_LINES))
    for loss in report.earlier:
        console.print(
            f"{loss.column} left before: epsilon {loss.texts[0]}, after this {loss.texts[1]}.",
            markup=False,
            soft_wrap=True,
        )


def _show_figures(console: Console, report: TreeReport) -> None:
    """Print the tree before and after it was cut back, and what that cost."""
    trees = [("nothing required", report.before), ("would leave", report.after)]
    table = Table(box=SIMPLE)
    table.add_column("")
    known = [(title, tree) for title, tree in trees if tree is not None]
    for title, _ in known:
        table.add_column(title, justify="right")
    rows = (
        ("paths", [f"{tree.leaves:,}" for _, tree in known]),
        ("questions on the longest way", [f"{tree.depth:,}" for _, tree in known]),
        ("your records on the smallest path", [f"{tree.smallest:,}" for _, tree in known]),
        ("class told rightly, of your records", [f"{tree.accuracy:.1%}" for _, tree in known]),
    )
    for what, cells in rows:
        table.add_row(what, *cells)
    console.print(table)
    console.print(
        f"Always telling the most frequent class would be right for {report.majority:.1%}.",
        soft_wrap=True,
    )
    given = report.given_up
    if given is not None and report.before is not None:
        merged = given["records_on_merged_paths"]
        moved = f"; {merged:,} records are on paths that were merged" if merged else ""
        console.print(
            f"With nothing required, {given['paths_that_did_not_meet_it']:,} of"
            f" {report.before.leaves:,} paths would not meet the requirement{moved}.",
            soft_wrap=True,
        )


def _show_tree(console: Console, title: str, text: str) -> None:
    console.print(title, style="bold")
    for line in text.splitlines():
        console.print(f"  {line}", markup=False, no_wrap=True, overflow="ellipsis")


def show_share_outcome(console: Console, outcome: ShareOutcome) -> None:
    """Print what a publication ended with."""
    done = "is already sealed; nothing was sent" if outcome.already else "is sealed"
    console.print(
        f"Release {outcome.name} {done}: a tree of {outcome.leaves:,}"
        f" path{'' if outcome.leaves == 1 else 's'}, {outcome.method}, digest"
        f" {outcome.digest[:12]}.",
        markup=False,
        soft_wrap=True,
    )
    if not outcome.asked:
        console.print(
            "Its folder was removed from the outbox, so the miner was not asked whether it still"
            " has the release, and could not get it again.",
            soft_wrap=True,
        )
