"""Jobs from their rows to their models, each run in a process under a supervisor."""
