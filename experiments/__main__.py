"""`python -m experiments` is the `pramana` command."""

from experiments.cli import main

main()
