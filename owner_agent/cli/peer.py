"""The commands for learning without a miner: `peer` and `learn`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from owner_agent.cli.options import SITE, CorrectionsOption, JsonOption, SiteOption, environment_of
from pramana_core.errors import PramanaError
from pramana_core.terminal import console, print_json, progress_bar

if TYPE_CHECKING:
    from owner_agent.peer.joint import JointOutcome
    from owner_agent.release.options import PublishOptions
    from owner_agent.state.environment import Environment

AcceptOption = Annotated[
    bool,
    typer.Option(
        "--accept-added-loss",
        help="Send columns again although they were sent before by other draws; the epsilons add.",
    ),
]


def peer(
    context: typer.Context,
    site: SiteOption = SITE,
    ready_file: Annotated[
        Path | None,
        typer.Option(help="A file that gets the url and the pid once the agent accepts calls."),
    ] = None,
    only: Annotated[
        Path | None,
        typer.Option(help="A session file: take part only in sessions that match it."),
    ] = None,
    accept_added_loss: AcceptOption = False,
    corrections: CorrectionsOption = None,
) -> None:
    """Take part in sessions that known peers start, until the command is stopped."""
    from owner_agent.peer.participant import opened
    from owner_agent.peer.protocol.session_file import load_session_file
    from owner_agent.peer.server import PeerServer
    from owner_agent.release.options import PublishOptions

    agreed = None if only is None else load_session_file(only)
    consent = PublishOptions(accept_added_loss=accept_added_loss, corrections=corrections)
    with opened(site, environment_of(context), _print_line, consent) as participant:
        participant.only = agreed
        fingerprint = participant.identity.public.fingerprint
        listen = participant.site.peer.listen
        _print_line(f"{participant.name} listens on {listen} as {fingerprint}.")
        PeerServer(participant, ready_file).serve_until_stopped()


def learn(
    context: typer.Context,
    peers: Annotated[Path, typer.Option(help="The session file: the task and the owners.")],
    site: SiteOption = SITE,
    accept_added_loss: AcceptOption = False,
    corrections: CorrectionsOption = None,
    json: JsonOption = False,
) -> None:
    """Start a session with the known peers, and learn together."""
    from owner_agent.cli.sessions_shown import outcome_json, show_outcome
    from owner_agent.release.options import PublishOptions

    consent = PublishOptions(accept_added_loss=accept_added_loss, corrections=corrections)
    outcome = _session(site, environment_of(context), peers, consent)
    print_json(outcome_json(outcome)) if json else show_outcome(console(), outcome)


def _session(
    path: Path, environment: Environment, peers: Path, consent: PublishOptions
) -> JointOutcome:
    from owner_agent.cli.sessions_shown import STEPS
    from owner_agent.peer.joint import run_session
    from owner_agent.peer.participant import opened
    from owner_agent.peer.protocol.session_file import load_session_file, proposal_of
    from owner_agent.peer.protocol.threads import stopped_like_interrupted
    from owner_agent.peer.server import PeerServer
    from owner_agent.site.site import load_site

    site, file = load_site(path), load_session_file(peers)
    proposal = proposal_of(file, site, environment.random_bytes)
    with (
        stopped_like_interrupted(),
        opened(path, file.patient(environment), lambda _line: None, consent) as participant,
        participant.leading(proposal),
        PeerServer(participant).in_background(),
        progress_bar(patience=0) as bar,
    ):
        try:
            return run_session(
                participant,
                proposal,
                lambda step, done, total: bar.stage(STEPS[step], done, total),
            )
        except PramanaError as error:
            # Peers get a shorter error; this owner may see the full one.
            raise participant.own_error or error from None
        finally:
            if participant.miner_unreachable is not None:
                _print_line(participant.miner_unreachable)


def _print_line(line: str) -> None:
    console(stderr=True).print(line, markup=False, soft_wrap=True)
