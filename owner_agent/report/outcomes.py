"""The result of a publication in sentences, and the warnings of the miner."""

from __future__ import annotations

from owner_agent.release.publish import PublishOutcome
from pramana_core.report.numbers import plural
from pramana_core.wire.release_kinds import SHARED_TREE


def outcome_lines(outcome: PublishOutcome) -> list[str]:
    """Return what a publication ended with, in sentences."""
    done = "is already sealed; nothing was sent" if outcome.already else "is sealed"
    if outcome.file is not None:
        done = f"{'was' if outcome.already else 'is'} written into {outcome.file}"
    said = [f"Release {outcome.name} {done}: {_content(outcome)}, digest {outcome.digest[:12]}."]
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


def _content(outcome: PublishOutcome) -> str:
    if outcome.kind == SHARED_TREE:
        return f"a tree of {plural(outcome.leaves, 'path')}, {outcome.method}"
    how = f" masked by {outcome.method}" if outcome.method else ""
    return f"{outcome.records:,} records{how} in {plural(outcome.parts, 'part')}"


def found_wrong(outcome: PublishOutcome) -> list[str]:
    """Return what the miner found wrong with a release, in sentences."""
    return [*_inconsistency(outcome), *_changes(outcome)]


def _inconsistency(outcome: PublishOutcome) -> list[str]:
    said = outcome.consistency
    if said is None or said.state != "inconsistent" or said.p_value is None:
        return []
    # The estimators come with it, and no other command needs them.
    from pramana_core.estimation.plausibility import RATE

    return [
        (
            f"the miner finds that the reports of {', '.join(said.variables)} do not fit the"
            f" transition matrices they were sent with (p = {said.p_value:.2g}), as at most one in"
            f" {1 / RATE:,.0f} releases made by their plan. A column may have been sent without"
            " randomization. Whoever uses the release is warned; withdraw it if you find the cause."
        )
    ]


def _changes(outcome: PublishOutcome) -> list[str]:
    changed = [one for one in outcome.repeated if one.changed]
    if not changed:
        return []
    each = ", ".join(
        f"{one.changed:,} of {one.records:,} in {'*'.join(one.variables)}" for one in changed
    )
    earlier = list(dict.fromkeys(name for one in changed for name in one.releases))
    return [
        (
            "the miner finds records that this release reports differently than earlier ones"
            f" ({', '.join(earlier)}) by the same draws: {each}. Whoever has these releases knows"
            " that these people's values changed, and no epsilon bounds that. This agent did not"
            " know what it had reported: restore its state folder from your backup before you"
            " publish again."
        )
    ]
