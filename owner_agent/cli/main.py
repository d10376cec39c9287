"""The `owner-agent` command. A subcommand's module is imported only when it is called."""

from __future__ import annotations

import typer

from owner_agent.cli import backup, design, init, keys, peer, reading, releasing, study
from owner_agent.state.environment import Environment
from pramana_core.terminal import application, run, with_examples

COMMANDS = (
    init.init,
    reading.check,
    reading.doctor,
    init.public_part,
    releasing.plan,
    design.design,
    reading.ledger,
    study.join,
    releasing.publish,
    releasing.mask,
    releasing.share_model,
    releasing.withdraw,
    releasing.new_epoch,
    backup.backup,
    backup.restore,
    study.serve,
    study.healthcheck,
    peer.peer,
    peer.learn,
    reading.predict,
)
"""The commands, in the order of `--help`."""


EXAMPLES = {
    "init": "init children.csv --owner family",
    "check": "check",
    "doctor": "doctor --json",
    "public-part": "public-part --out family.public.toml",
    "join": "join nursery-family.invitation --linkage linkage.key",
    "plan": "plan --report approval.html",
    "publish": "publish --yes",
    "design": "design --gamma 19 --learn pairs --apply",
    "ledger": "ledger --json",
    "mask": "mask --publish",
    "share-model": "share-model --report tree.html",
    "withdraw": "withdraw r-ab3c370f5b34",
    "new-epoch": "new-epoch --yes",
    "backup": "backup north-2026-11-30.backup --passphrase-file passphrase",
    "restore": "restore north-2026-11-30.backup",
    "serve": "serve --port 8100",
    "healthcheck": "healthcheck --port 8100",
    "peer": "peer --site site.toml",
    "learn": "learn --peers peers.toml",
    "predict": "predict classifier.json held-out.csv --record-id id --out predicted.csv",
    "keys create": "keys create --linkage",
    "keys import": "keys import linkage linkage.key",
    "keys export": "keys export linkage linkage.key",
    "keys show": "keys show",
    "keys identity": "keys identity --certificate north.pem",
}
"""An example for the `--help` of each command; the program's own help shows the first."""


def main() -> None:
    """Run the command line."""
    run(build(Environment()), extra="owner")


def build(environment: Environment) -> typer.Typer:
    """Return the command-line application for an environment."""
    app = application(
        "Randomize your records, publish them, and keep account of every release.",
        name="owner-agent",
        context_settings={"obj": environment},
    )
    for command in COMMANDS:
        app.command()(command)
    app.add_typer(keys.app, name="keys")
    return with_examples(app, "owner-agent", EXAMPLES)
