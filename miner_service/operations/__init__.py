"""What whoever runs a miner does with its store as a whole: backup, restore, check, delete a study.

Each is a function of the services of an open store and works while service processes run, but for
restoring, which needs an empty store. What the command line says is in `miner_service.cli`.
"""
