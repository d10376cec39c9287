"""What people see of what was found wrong, and of what left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.release.composition import Unbounded, left_draws, renamed, spent
from owner_agent.report.measures import draw_text, loss_text
from pramana_core.wire.releases.base import SHARED_TREE

if TYPE_CHECKING:
    from owner_agent.release.ledger import Entry
    from owner_agent.release.new_epoch import NewEpoch
    from owner_agent.release.publish import PublishOutcome
    from owner_agent.site.site import Site
    from pramana_core.audit.verifying import Anchor


def show_outcome(console: Console, outcome: PublishOutcome) -> None:
    """Print what a publication ended with."""
    done = "is already sealed; nothing was sent" if outcome.already else "is sealed"
    console.print(
        f"Release {outcome.name} {done}: {_held(outcome)}, digest {outcome.digest[:12]}.",
        markup=False,
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


def _held(outcome: PublishOutcome) -> str:
    """Say what a release holds."""
    if outcome.kind == SHARED_TREE:
        paths = f"{outcome.leaves:,} path{'' if outcome.leaves == 1 else 's'}"
        return f"a tree of {paths}, {outcome.method}"
    how = f" masked by {outcome.method}" if outcome.method else ""
    many = "s" if outcome.parts > 1 else ""
    return f"{outcome.records:,} records{how} in {outcome.parts} part{many}"


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
    from pramana_core.estimation.plausibility import RATE

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
    """Return what a publication ends with: words on the release, and on the miner's log."""
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
    return f"tree, {entry.method}" if entry.kind == SHARED_TREE else f"masked by {entry.method}"


def show_written(console: Console, path: Path) -> None:
    """Print where a report was written, as short as it can be said."""
    inside = path.is_relative_to(Path.cwd())
    console.print("The whole report is in")
    shown = path.relative_to(Path.cwd()) if inside else path
    # One line, however narrow the terminal: a path in two pieces cannot be copied.
    console.print(str(shown), markup=False, soft_wrap=True)


def show_others_apart(console: Console, site: Site) -> None:
    """Say that columns of [mask] and [share_model] leave by commands of their own, if any do."""
    if site.file.mask is not None:
        console.print(
            f"Masked columns ({', '.join(site.file.mask.confidential)}) are no part of this:"
            " `owner-agent mask` reports on them, and `owner-agent mask --publish` sends them.",
            markup=False,
            soft_wrap=True,
        )
    if site.file.share_model is not None:
        console.print(
            f"The tree of {site.file.share_model.target.column} is no part of this:"
            " `owner-agent share-model` shows it, and `owner-agent share-model --publish` sends"
            " it.",
            markup=False,
            soft_wrap=True,
        )
