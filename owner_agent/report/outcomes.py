"""Sentences on the result of a publication, and on the miner's warnings."""

from __future__ import annotations

from owner_agent.release.publish import PublishOutcome
from pramana_core.report.numbers import plural
from pramana_core.wire.release_kinds import SHARED_TREE


def outcome_lines(outcome: PublishOutcome) -> list[str]:
    """Return the result of a publication in sentences."""
    done = "is already sealed; nothing was sent" if outcome.already else "is sealed"
    if outcome.file is not None:
        done = f"{'was' if outcome.already else 'is'} written into {outcome.file}"
    lines = [f"Release {outcome.name} {done}: {_content(outcome)}, digest {outcome.digest[:12]}."]
    if not outcome.asked:
        lines.append(
            "Its folder was removed from the outbox. Therefore the agent did not ask whether the "
            "miner still has the release, and could not send the release again."
        )
    if outcome.stale:
        lines.append(
            f"{outcome.stale:,} records keep the report of a value that has been corrected since."
        )
    return lines


def _content(outcome: PublishOutcome) -> str:
    if outcome.kind == SHARED_TREE:
        return f"a tree of {plural(outcome.leaves, 'path')}, {outcome.method}"
    how = f" masked by {outcome.method}" if outcome.method else ""
    return f"{outcome.records:,} records{how} in {plural(outcome.parts, 'part')}"


def found_wrong(outcome: PublishOutcome) -> list[str]:
    """Return sentences on the problems that the miner found in a release."""
    return [*_inconsistency(outcome), *_changes(outcome)]


def _inconsistency(outcome: PublishOutcome) -> list[str]:
    check = outcome.consistency
    if check is None or check.state != "inconsistent" or check.p_value is None:
        return []
    # The import loads the estimators, which no other command needs.
    from pramana_core.estimation.plausibility import RATE

    return [
        (
            f"the miner finds that the reports of {', '.join(check.variables)} do not fit their"
            f" transition matrices (p = {check.p_value:.2g}). This happens to at most one in"
            f" {1 / RATE:,.0f} releases that follow their plan. A column may have been sent "
            "without randomization. Analysts see a warning. If you find a fault, withdraw the "
            "release."
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
            "the miner finds records whose reports in this release differ from earlier releases"
            f" ({', '.join(earlier)}) by the same draws: {each}. The difference reveals that these"
            " people's values changed, which no epsilon bounds. The agent's memory of its "
            "earlier reports is incomplete. Restore the state directory from your backup before "
            "you publish again."
        )
    ]
