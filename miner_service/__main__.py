"""`python -m miner_service` is the same as `miner-service`."""

from miner_service.cli.main import main

main()
