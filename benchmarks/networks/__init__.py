"""Every learner on published networks under every bound, by the product's own commands.

`python -m benchmarks.networks` runs `pramana simulate` on pgmpy's example networks, keeps in
results.json how each command ended and what it took, and writes the table of docs/whole-record.md.
"""
