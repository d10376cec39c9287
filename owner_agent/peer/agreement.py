"""What an owner checks before it goes on: its custodian's consent, and that all tell the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from owner_agent.peer.exchange.catalogue import (
    entitled,
    require_aligned,
    task_of,
    variables_of,
)
from owner_agent.peer.exchange.incoming import announced_plan, check_package
from owner_agent.peer.exchange.outgoing import require_stated
from owner_agent.peer.protocol.identity import PublicIdentity, pinned, statement_of
from owner_agent.peer.protocol.messages import (
    Offer,
    Package,
    Proposal,
    ResultAgreement,
    SessionFile,
    Stated,
    Statements,
)
from owner_agent.peer.protocol.steps import owner_of, require_held
from owner_agent.peer.session import Session
from owner_agent.site.adopting import short
from owner_agent.site.site import Site, load_site
from pramana_core.errors import ConfigError, Forbidden, PeerDeviated
from pramana_core.plan import Plan


def consent(
    site: Site,
    known: Mapping[str, PublicIdentity],
    caller: str,
    proposal: Proposal,
    study_plan: str | None,
    only: SessionFile | None = None,
) -> None:
    """Check a proposal against the site file, which is the custodian's decision.

    Args:
        site: what it says.
        known: the known peers' certificates.
        caller: who proposes.
        proposal: what is proposed.
        study_plan: the digest of the study's plan that this owner follows.
        only: the only session that this owner takes part in.

    Raises:
        Forbidden: the caller is not the initiator, somebody is not known to this owner, this owner
            is not asked, the study or its plan is another one, the session may last too long, or it
            is not the `only` one.
        InputError: the task contradicts itself.
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
    _require_plan(site, proposal, study_plan)
    task_of(proposal).check()


def _require_plan(site: Site, proposal: Proposal, study_plan: str | None) -> None:
    """Check that a session follows the study's plan as this owner does, and can.

    What networks tell beside the columns is exact: it is in no epsilon, and in no plan's bound.
    """
    if proposal.study_plan != study_plan:
        here = f"the study plan {short(study_plan)}" if study_plan else "no study plan"
        asked = f"{short(proposal.study_plan)}" if proposal.study_plan else "none"
        raise Forbidden(
            f"{site.owner} follows {here}, and the session {asked}.",
            where=site.owner,
            remedy="Agree on one plan: compare its digest in everybody's `owner-agent study-plan"
            " show`, and name it in [study_plan] of every site file.",
        )
    if study_plan and task_of(proposal).shared:
        raise Forbidden(
            f"A session of kind {proposal.task.kind!r} shares what is counted in true columns,"
            " which no study plan bounds.",
            where=site.owner,
            remedy="Choose a kind whose result is the initiator's alone.",
        )


def _require_followed(mine: Session, owner: str, package: Package) -> None:
    """Check that columns are a part of the study's plan, whole, or public; all follow it."""
    study_plan = mine.holding.study_plan
    if study_plan is None:
        return
    plan = announced_plan(owner, package)
    asked = set(plan.domain.names)
    if study_plan.reports(owner) and not asked & set(study_plan.block(owner).names):
        # Columns beside the part may be all that is asked for.
        plan = Plan((*plan.blocks, study_plan.block(owner)))
    departures = list(study_plan.departures(owner, plan))
    if departures:
        raise PeerDeviated(
            f"{owner} announces columns that do not follow the study plan"
            f" {short(study_plan.digest)}: {'; '.join(departures)}.",
            where=owner,
        )


def stated(
    mine: Session,
    everybody: Mapping[str, PublicIdentity],
    kind: type[Stated],
    statements: Statements,
    owners: Sequence[str],
) -> dict[str, Stated]:
    """Return one round's messages by owner, each as its owner signed it.

    Raises:
        PeerDeviated: one is missing, twice there or altered, or this owner's own is.
    """
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
    """Check that the owners were asked the same, fit together, and have all that is needed.

    Raises:
        PeerDeviated: an owner was asked something else, or offers what nobody asked for.
        RecordsDoNotAlign: owners have other records.
        StructureError: two owners have one variable.
        VariablesMissing: nobody has a variable of the task.
        InputError: the task names a category that a variable does not have.
    """
    proposal = mine.proposal
    for owner, offer in mine.offers.items():
        if offer.proposal != proposal.digest:
            raise PeerDeviated(f"{owner} answers to another proposal.", where=owner)
        _require_asked(owner, offer, variables_of(proposal))
    require_held(variables_of(proposal), mine.holdings)
    owner_of(mine.holdings)
    require_aligned(mine.offers, proposal.study)
    task_of(proposal).require_fit(mine.domain)


def _require_asked(owner: str, offer: Offer, asked: Sequence[str]) -> None:
    names = [offered.variable.name for offered in offer.variables]
    wrong = sorted({n for n in names if n not in asked or names.count(n) > 1})
    if wrong:
        raise PeerDeviated(
            f"{owner} offers {wrong}, which the session does not ask for, or twice.", where=owner
        )


def agree_on_result(
    mine: Session, everybody: Mapping[str, PublicIdentity], statements: Statements
) -> None:
    """Check that everybody who makes the result ready signed it, and that it is this owner's.

    So whoever begins a session cannot let two owners write different results.

    Raises:
        PeerDeviated: an agreement is missing or altered, or is to another result.
    """
    proposal = mine.proposal
    signers = proposal.participants if task_of(proposal).shared else [proposal.initiator]
    signed = stated(mine, everybody, ResultAgreement, statements, signers)
    first = mine.digest or signed[signers[0]].digest
    others = [owner for owner in signers if signed[owner].digest != first]
    if others:
        raise PeerDeviated(
            f"The owners did not arrive at the same network: {mine.holding.site.owner} and"
            f" {', '.join(others)} received different parts.",
            where=proposal.initiator,
        )


def agree_on_announcements(mine: Session, own: str) -> None:
    """Check that all saw the same offers, and that what comes here is what is needed here.

    Raises:
        PeerDeviated: an owner heard something else, or announces something else than it
            offered, other than the study's plan says, or at a cost that it does not state.
    """
    for owner, announcement in mine.announcements.items():
        agreed = (mine.proposal.digest, mine.offers_digest)
        if (announcement.proposal, announcement.offers) != agreed:
            raise PeerDeviated(f"{owner} received other offers.", where=owner)
        for announced in announcement.packages.values():
            _require_followed(mine, owner, announced)
        names = entitled(mine.proposal, mine.holdings, owner, own)
        package = announcement.packages.get(own)
        if names and package is None:
            raise PeerDeviated(f"{owner} announces no columns for {own}.", where=owner)
        if names and package is not None:
            check_package(owner, package, mine.offers[owner], names)
        require_stated(owner, announcement, own)


def require_unchanged(path: Path, site: Site, known: Mapping[str, PublicIdentity]) -> None:
    """Check that what the custodian decided is what this owner was started with.

    Args:
        path: the site file.
        site: what it said at the start.
        known: the known peers' certificates at the start.

    Raises:
        ConfigError: the site file or a certificate is another one now, or is wrong.
    """
    now = load_site(path)
    if now != site or pinned(now) != known:
        raise ConfigError(
            f"{path} or a certificate that it names was changed since the agent was started; no"
            " session begins before it is started again.",
            where=str(path),
            remedy="Stop `owner-agent peer`, and start it again.",
        )
