"""The command `owner-agent`, also as `python -m owner_agent`."""

import sys


def main() -> None:
    """Run the command line. A health check of the default port does not load the command line."""
    if sys.argv[1:] == ["healthcheck"]:
        from owner_agent.healthcheck import require_healthy
        from pramana_core.errors import NotReady

        try:
            require_healthy()
        except NotReady as error:
            sys.stderr.write(f"{error.message}\n")
            sys.exit(error.exit_code)
    else:
        from owner_agent.cli.main import main as run

        run()


if __name__ == "__main__":
    main()
