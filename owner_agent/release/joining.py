"""Joining a study: an invitation becomes a token, and a token the next one.

A token is on disk before it is used, and what is asked can be asked again: an agent that is killed
at any step gets its token by the same command.
"""

from __future__ import annotations

from http import HTTPStatus

from owner_agent.release.anchors import remember
from owner_agent.release.client import Miner
from owner_agent.site.site import Site
from owner_agent.state.audit import noted
from owner_agent.state.retry_keys import RetryKey
from owner_agent.state.surroundings import Surroundings
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import ConfigError, OptionError, Refused, TransportError
from pramana_core.wire.people import InvitationAccept, TokenIssued

_NOTHING_TO_GET = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})
"""The miner knows no such invitation, or gave its answer to somebody else."""


def join(site: Site, secret: str, surroundings: Surroundings) -> TokenIssued:
    """Accept an invitation at the site's miner and store the token.

    A secret that somebody finds later is worth nothing: the answer is only for this state
    directory, which keeps the request's key until the token is on disk.

    Raises:
        OptionError: the text is not an invitation secret.
        ConfigError: the invitation was for another owner or study than the site file says; its
            token is stored all the same, as it is given only once.
        Refused: the miner knows no such invitation, or it is used up or expired.
        Unreachable: the miner did not answer.
    """
    try:
        InvitationAccept(secret=secret)
    except ValueError:
        raise OptionError(
            "That is not an invitation secret: it must have 16 to 256 characters.",
            where="secret",
            remedy="Paste the whole secret of the invitation.",
        ) from None
    # Before the invitation is used up: the token must have a safe place to go.
    with noted(
        site.state, surroundings.now(), "join", miner=site.miner.url, study=site.miner.study
    ):
        key = RetryKey(site.state, secret)
        try:
            with Miner.of(site, None, surroundings) as miner:
                issued = miner.accept(secret, key.kept(surroundings.random_bytes))
        except Refused as refused:
            if refused.status in _NOTHING_TO_GET:
                key.forget()
            raise
        TokenStore(site.state).save(_study_of(issued), issued.token)
        key.forget()
    if (issued.study, issued.name) != (site.miner.study, site.owner):
        raise ConfigError(
            f"The invitation was for owner {issued.name!r} in study {issued.study!r}; the site"
            f" file says {site.owner!r} in {site.miner.study!r}. The token was stored.",
            where="miner.study" if issued.study != site.miner.study else "owner",
            remedy="Correct the site file.",
        )
    return issued


def rotate(site: Site, surroundings: Surroundings) -> TokenIssued:
    """Replace the token of the site's study by a new one, and use it, which ends the old one.

    Raises:
        Unauthenticated: the site has not joined the study.
        Refused: the miner does not take the token.
        Unreachable: the miner did not answer; the same command goes on from there.
    """
    tokens, study = TokenStore(site.state), site.miner.study
    with noted(site.state, surroundings.now(), "rotate_token", miner=site.miner.url, study=study):
        with Miner.of(site, tokens.load(study), surroundings) as miner:
            issued = miner.rotate_token()
        tokens.save(study, issued.token)
    with Miner.of(site, issued.token, surroundings) as miner:
        remember(site.state, miner, surroundings)
    return issued


def _study_of(issued: TokenIssued) -> str:
    """Return the study of an owner's token, which has one. Raises TransportError."""
    if issued.study is None:
        raise TransportError("The miner issued a token of no study to an owner.")
    return issued.study
