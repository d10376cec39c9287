"""`pramana simulate`: what can be learned from randomized records, before anyone commits."""

from __future__ import annotations

import typer

from pramana.simulate.commands.bayes_net import bayes_net
from pramana.simulate.commands.classifiers import classifier, linear, tree
from pramana.simulate.commands.model_sharing import model_sharing
from pramana.simulate.commands.rules import rules

app = typer.Typer(
    help="Learn from randomized records, or from shared trees, of a known table, many times.",
    no_args_is_help=True,
)

app.command("bayes-net")(bayes_net)
app.command("rules")(rules)
app.command("tree")(tree)
app.command("linear")(linear)
app.command("classifier")(classifier)
app.command("model-sharing")(model_sharing)
