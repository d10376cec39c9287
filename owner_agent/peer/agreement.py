"""What an owner checks before it goes on: its custodian's consent, and that all state the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from owner_agent.peer.exchange.entitlement import entitled, require_one_owner
from owner_agent.peer.exchange.incoming import check_package, drawn_plan
from owner_agent.peer.exchange.local_records import require_aligned
from owner_agent.peer.protocol.identity import PublicIdentity, pinned, statement_of
from owner_agent.peer.protocol.messages import Offer, Proposal, ResultAgreement, Stated, Statements
from owner_agent.peer.protocol.session_file import SessionFile
from owner_agent.peer.session import Session
from owner_agent.site.site import Site, load_site
from pramana_core.errors import ConfigError, Forbidden, PeerDeviated


def consent(
    site: Site,
    known: Mapping[str, PublicIdentity],
    caller: str,
    proposal: Proposal,
    only: SessionFile | None = None,
) -> None:
    """Check a proposal against the site file, which is the custodian's decision.

    Raises Forbidden, InputError.
    """
    strangers = [n for n in proposal.participants if n not in known and n != site.owner]
    if caller != proposal.initiator or site.owner not in proposal.participants:
        raise Forbidden(
            f"{caller} proposes a session that is not its own, or without {site.owner}.",
            where=caller,
        )
    if strangers:
        raise Forbidden(
            f"{site.owner} does not know {', '.join(strangers)}.",
            where=site.owner,
            remedy=f"Let {site.owner} add them to the known peers of its site file.",
        )
    if proposal.study != site.peer.study:
        raise Forbidden(
            f"{site.owner} learns with its peers in another study than {proposal.study!r}.",
            where=site.owner,
            remedy="Agree on one study, and write its name into every [peer] section.",
        )
    if proposal.seconds > site.peer.longest_seconds:
        raise Forbidden(
            f"{site.owner} takes part in sessions of at most {site.peer.longest_seconds:.0f}"
            f" seconds, and not of {proposal.seconds:.0f}.",
            where=site.owner,
            remedy=f"Ask for less, or let {site.owner} raise longest_seconds in its [peer]"
            " section.",
        )
    if only is not None and not only.allows(proposal, site.owner, known):
        raise Forbidden(
            f"{site.owner} agreed to another session than this one.",
            where=site.owner,
            remedy=f"Give {site.owner} the session file, for `owner-agent peer --only`.",
        )
    proposal.task.check()


def stated(
    mine: Session,
    everybody: Mapping[str, PublicIdentity],
    kind: type[Stated],
    statements: Statements,
    owners: Sequence[str],
) -> dict[str, Stated]:
    """Return one round's messages by owner, each as its owner signed it. Raises PeerDeviated."""
    by_owner = {signed.owner: signed for signed in statements.all}
    if sorted(by_owner) != sorted(owners) or len(by_owner) < len(statements.all):
        raise PeerDeviated(
            f"{mine.proposal.initiator} passed on the {kind.noun}s of {sorted(by_owner)}, not of"
            f" {sorted(owners)}.",
            where=mine.proposal.initiator,
        )
    own = mine.holding.site.owner
    if own in by_owner:
        mine.require_own(kind, by_owner[own])
    session = mine.proposal.session
    return {
        owner: statement_of(by_owner[owner], everybody[owner], session, kind) for owner in owners
    }


def agree_on_offers(mine: Session) -> None:
    """Check that the owners received the same proposal, fit together, and have all that is needed.

    Raises PeerDeviated, RecordsDoNotAlign, StructureError, VariablesMissing, InputError.
    """
    proposal = mine.proposal
    for owner, offer in mine.offers.items():
        if offer.proposal != proposal.digest:
            raise PeerDeviated(f"{owner} answers to another proposal.", where=owner)
        _require_wanted(owner, offer, proposal.task.names)
    require_one_owner(proposal.task.names, mine.holdings)
    require_aligned(mine.offers, proposal.study)


def _require_wanted(owner: str, offer: Offer, wanted: Sequence[str]) -> None:
    names = [offered.variable.name for offered in offer.variables]
    wrong = sorted({n for n in names if n not in wanted or names.count(n) > 1})
    if wrong:
        raise PeerDeviated(
            f"{owner} offers {wrong}, which the session does not ask for, or twice.", where=owner
        )


def agree_on_result(
    mine: Session, everybody: Mapping[str, PublicIdentity], statements: Statements
) -> None:
    """Check that everybody signed the result, and that it is this owner's.

    So whoever begins a session cannot let two owners write different results. Raises PeerDeviated.
    """
    proposal = mine.proposal
    signed = stated(mine, everybody, ResultAgreement, statements, proposal.participants)
    others = [owner for owner in proposal.participants if signed[owner].digest != mine.digest]
    if others:
        raise PeerDeviated(
            f"The owners did not arrive at the same network: {mine.holding.site.owner} and"
            f" {', '.join(others)} received different parts.",
            where=proposal.initiator,
        )


def agree_on_announcements(mine: Session, own: str) -> None:
    """Check that all saw the same offers, and that what comes here is what is needed here.

    Raises PeerDeviated.
    """
    for owner, announcement in mine.announcements.items():
        agreed = (mine.proposal.digest, mine.offers_digest)
        if (announcement.proposal, announcement.offers) != agreed:
            raise PeerDeviated(f"{owner} received other offers.", where=owner)
        offer, drawn = mine.offers[owner], announcement.drawn
        if drawn is not None:
            mine.drawn[owner] = drawn_plan(owner, drawn, offer)
        names = entitled(mine.proposal, mine.holdings, owner, own)
        package, plan = announcement.packages.get(own), mine.plan_for(owner, own)
        if names and (package is None or plan is None or not {*names} <= {*plan.domain.names}):
            raise PeerDeviated(f"{owner} announces no columns for {own}, or not all.", where=owner)
        if package is not None and plan is not None:
            check_package(owner, package, offer, plan)


def require_unchanged(path: Path, site: Site, known: Mapping[str, PublicIdentity]) -> None:
    """Check that what the custodian decided is what this owner was started with.

    Raises ConfigError.
    """
    now = load_site(path)
    if now != site or pinned(now) != known:
        raise ConfigError(
            f"{path} or a certificate that it names was changed since the agent was started; no"
            " session begins before it is started again.",
            where=str(path),
            remedy="Stop `owner-agent peer`, and start it again.",
        )
