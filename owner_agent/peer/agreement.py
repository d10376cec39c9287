"""Checks before each step of a session: the custodian's consent, and agreement of all owners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from owner_agent.peer.exchange.incoming import check_package, drawn_plan
from owner_agent.peer.exchange.local_records import require_aligned
from owner_agent.peer.protocol.identity import PublicIdentity, pinned, statement_of
from owner_agent.peer.protocol.messages import (
    Holdings,
    Offer,
    Proposal,
    ResultAgreement,
    Stated,
    Statements,
)
from owner_agent.peer.protocol.session_file import SessionFile
from owner_agent.peer.session import Session
from owner_agent.site.site import Site, load_site
from pramana_core.errors import (
    ConfigError,
    Forbidden,
    PeerDeviated,
    StructureError,
    VariablesMissing,
)


def consent(
    site: Site,
    known: Mapping[str, PublicIdentity],
    caller: str,
    proposal: Proposal,
    only: SessionFile | None = None,
) -> None:
    """Check that the site file permits a proposed session. Raises Forbidden, InputError."""
    own, most = site.owner, site.peer.longest_seconds
    strangers = [n for n in proposal.participants if n not in known and n != own]
    if caller != proposal.initiator or own not in proposal.participants:
        message = f"{caller} proposes a session that it does not lead, or that excludes {own}."
        raise Forbidden(message, where=caller)
    if strangers:
        message = f"The site file of {own} does not list {', '.join(strangers)} as known peers."
        remedy = f"Ask {own} to add these owners to the known peers in its site file."
    elif proposal.study != site.peer.study:
        message = f"The [peer] section of {own} names a study other than {proposal.study!r}."
        remedy = "Agree on a study, and write its name into every [peer] section."
    elif proposal.seconds > most:
        message = f"{own} allows a session at most {most:.0f} seconds, not {proposal.seconds:.0f}."
        remedy = f"Propose a shorter time, or ask {own} to raise longest_seconds in [peer]."
    elif only is not None and not only.allows(proposal, own, known):
        message = f"{own} agreed to another session than the proposed one."
        remedy = f"Send {own} the session file, for `owner-agent peer --only`."
    else:
        proposal.task.check()
        return
    raise Forbidden(message, where=own, remedy=remedy)


def read_statements(
    mine: Session,
    everybody: Mapping[str, PublicIdentity],
    kind: type[Stated],
    statements: Statements,
) -> dict[str, Stated]:
    """Return the messages of one round by owner, after checking signatures. Raises PeerDeviated."""
    proposal, by_owner = mine.proposal, {signed.owner: signed for signed in statements.all}
    if sorted(by_owner) != sorted(proposal.participants) or len(by_owner) < len(statements.all):
        raise PeerDeviated(
            f"{proposal.initiator} forwarded the {kind.noun}s of {sorted(by_owner)} instead of"
            f" {sorted(proposal.participants)}.",
            where=proposal.initiator,
        )
    mine.require_own(kind, by_owner[mine.holding.site.owner])
    return {
        owner: statement_of(by_owner[owner], everybody[owner], proposal.session, kind)
        for owner in proposal.participants
    }


def agree_on_offers(mine: Session) -> None:
    """Check that all owners answered the same proposal and have all its variables.

    Raises PeerDeviated.
    """
    proposal = mine.proposal
    for owner, offer in mine.offers.items():
        if offer.proposal != proposal.digest:
            raise PeerDeviated(f"{owner} answers to another proposal.", where=owner)
        _require_wanted(owner, offer, proposal.task.names)
    _require_one_owner(proposal.task.names, mine.holdings)
    require_aligned(mine.offers, proposal.study)


def _require_one_owner(names: Sequence[str], holdings: Holdings) -> None:
    found: dict[str, str] = {}
    for owner, mine in holdings.items():
        for name in mine:
            if name in found:
                raise StructureError(
                    f"Both {found[name]} and {owner} have a variable {name!r}.",
                    where=name,
                    remedy="Rename one of these variables.",
                )
            found[name] = owner
    absent = [name for name in names if name not in found]
    if absent:
        raise VariablesMissing(
            f"No participant has these variables: {absent}.",
            where=", ".join(absent),
            remedy="Correct their names in the session file, or invite their owner.",
        )


def _require_wanted(owner: str, offer: Offer, wanted: Sequence[str]) -> None:
    names = [offered.variable.name for offered in offer.variables]
    wrong = sorted({n for n in names if n not in wanted or names.count(n) > 1})
    if wrong:
        raise PeerDeviated(
            f"{owner} offers variables that the session does not need, or offers a variable more "
            f"than once: {wrong}.",
            where=owner,
        )


def agree_on_result(
    mine: Session, everybody: Mapping[str, PublicIdentity], statements: Statements
) -> None:
    """Check that all owners signed the result that this owner has computed. Raises PeerDeviated."""
    proposal = mine.proposal
    signed = read_statements(mine, everybody, ResultAgreement, statements)
    others = [owner for owner in proposal.participants if signed[owner].digest != mine.digest]
    if others:
        raise PeerDeviated(
            f"The owners obtained different networks: {mine.holding.site.owner} and "
            f"{', '.join(others)} have different results.",
            where=proposal.initiator,
        )


def agree_on_announcements(mine: Session, own: str) -> None:
    """Check that all owners received the same offers and send all columns. Raises PeerDeviated."""
    for owner, announcement in mine.announcements.items():
        agreed = (mine.proposal.digest, mine.offers_digest)
        if (announcement.proposal, announcement.offers) != agreed:
            raise PeerDeviated(f"{owner} received other offers.", where=owner)
        offer, drawn = mine.offers[owner], announcement.drawn
        if drawn is not None:
            mine.drawn[owner] = drawn_plan(owner, drawn, offer)
        names = mine.proposal.entitled(mine.holdings, owner, own)
        package, plan = announcement.packages.get(own), mine.plan_for(owner, own)
        if names and (package is None or plan is None or not {*names} <= {*plan.domain.names}):
            raise PeerDeviated(f"{owner} does not announce all columns for {own}.", where=owner)
        if package is not None and plan is not None:
            check_package(owner, package, offer, plan)


def require_unchanged(path: Path, site: Site, known: Mapping[str, PublicIdentity]) -> None:
    """Check that site file and certificates are unchanged since the start. Raises ConfigError."""
    now = load_site(path)
    if now != site or pinned(now) != known:
        raise ConfigError(
            f"{path} or a certificate that it names has changed since the agent started. Until "
            "the agent is restarted, it takes part in no session.",
            where=str(path),
            remedy="Stop `owner-agent peer`, and start it again.",
        )
