"""The `owner-agent` command: what a custodian can do, each thing in one line.

Only the command that is called loads what it needs: the modules of commands declare them, and
import the rooms they use inside.
"""

from __future__ import annotations

import typer

from owner_agent.cli import design, init, joining, keys, peer, predict, reading, releasing, sending
from owner_agent.state.environment import Environment
from pramana_core.audit.command import audit_commands
from pramana_core.terminal import run

COMMANDS = (
    init.init,
    reading.check,
    reading.plan,
    reading.discretize,
    design.design,
    reading.ledger,
    joining.join,
    releasing.publish,
    releasing.mask,
    releasing.share_model,
    releasing.withdraw,
    releasing.new_epoch,
    sending.serve,
    peer.peer,
    peer.learn,
    predict.predict,
)
"""In the order in which `--help` lists them."""


def main() -> None:
    """Run the command."""
    run(build(Environment()), extra="owner")


def build(environment: Environment) -> typer.Typer:
    """Return the command-line application in some environment."""
    # A traceback with local variables would print cells of the table.
    app = typer.Typer(
        name="owner-agent",
        help="Randomize your records, publish them, and know everything that ever left.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"obj": environment},
    )
    for command in COMMANDS:
        app.command()(command)
    app.add_typer(keys.app, name="keys")
    audit = audit_commands()
    audit.command()(reading.anchors)
    app.add_typer(audit, name="audit")
    app.add_typer(sending.token, name="token")
    app.add_typer(sending.app, name="study-plan")
    return app
