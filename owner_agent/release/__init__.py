"""Everything that leaves the site for a miner: made, written down, sent, and remembered.

`publish` has the steps in order. Ledger, outbox and memory of reports keep what left;
`composition` adds up what it costs. Randomness, tables and pages are elsewhere.
"""
