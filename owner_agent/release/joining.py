"""Joining a study: an invitation becomes a token."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from owner_agent.release.client import Miner
from owner_agent.site.site import Site
from owner_agent.state.audit import noted
from owner_agent.state.environment import Environment
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import (
    ConfigError,
    OptionError,
    TransportError,
)
from pramana_core.wire.privacy import InvitationAccept, InvitationFile, TokenIssued


def read_invitation(path: Path) -> InvitationFile:
    """Read the file of an invitation. Raises OptionError, without a word of what is in it."""
    try:
        return InvitationFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise OptionError(
            f"The invitation {path} cannot be read: {error.strerror}.", where="invitation"
        ) from None
    except ValidationError:
        raise OptionError(
            f"{path} is no invitation.",
            where="invitation",
            remedy="It is the file that `miner-service study create --owners` or `study invite`"
            " wrote; a bare secret is taken by `owner-agent join --secret-file FILE`.",
        ) from None


def join(site: Site, secret: str, environment: Environment) -> TokenIssued:
    """Accept an invitation at the site's miner and store the token.

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
    with noted(site.state, environment.now(), "join", miner=site.miner.url, study=site.miner.study):
        with Miner.of(site, None, environment) as miner:
            issued = miner.accept(secret)
        TokenStore(site.state).save(_study_of(issued), issued.token)
    if (issued.study, issued.name) != (site.miner.study, site.owner):
        raise ConfigError(
            f"The invitation was for owner {issued.name!r} in study {issued.study!r}; the site"
            f" file says {site.owner!r} in {site.miner.study!r}. The token was stored.",
            where="miner.study" if issued.study != site.miner.study else "owner",
            remedy="Correct the site file.",
        )
    return issued


def _study_of(issued: TokenIssued) -> str:
    """Return the study of an owner's token, which has one. Raises TransportError."""
    if issued.study is None:
        raise TransportError("The miner issued a token of no study to an owner.")
    return issued.study
