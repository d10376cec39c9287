"""`python -m owner_agent` is the `owner-agent` command."""

from owner_agent.cli.main import main

if __name__ == "__main__":
    main()
