"""What people are told when a publication has ended: what left, and what was found wrong."""

from __future__ import annotations

from owner_agent.release.publish import PublishOutcome
from pramana_core.wire.release_kinds import SHARED_TREE


def outcome_lines(outcome: PublishOutcome) -> list[str]:
    """Say what a publication ended with."""
    done = "is already sealed; nothing was sent" if outcome.already else "is sealed"
    said = [f"Release {outcome.name} {done}: {_held(outcome)}, digest {outcome.digest[:12]}."]
    if not outcome.asked:
        said.append(
            "Its folder was removed from the outbox, so the miner was not asked whether it still"
            " has the release, and could not get it again."
        )
    if outcome.stale:
        said.append(
            f"{outcome.stale:,} records keep the report of a value that was corrected since."
        )
    return said


def _held(outcome: PublishOutcome) -> str:
    """Say what a release holds."""
    if outcome.kind == SHARED_TREE:
        paths = f"{outcome.leaves:,} path{'' if outcome.leaves == 1 else 's'}"
        return f"a tree of {paths}, {outcome.method}"
    how = f" masked by {outcome.method}" if outcome.method else ""
    many = "s" if outcome.parts > 1 else ""
    return f"{outcome.records:,} records{how} in {outcome.parts} part{many}"


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
    """Return what the miner found wrong with a release."""
    return inconsistency(outcome) + changes(outcome)
