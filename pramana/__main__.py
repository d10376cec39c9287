"""`python -m pramana` is the `pramana` command."""

from pramana.cli import main

main()
