"""Entry point of `python -m miner_service`, the same as `miner-service`."""

from miner_service.cli.main import main

main()
