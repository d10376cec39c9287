"""The owner's side: table, plan, keyed randomization, outbox, upload and ledger."""
