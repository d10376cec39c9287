"""Entry point of `miner-service`, also as `python -m miner_service`."""

import sys


def main() -> None:
    """Run the command line. A health check without options does not load its slow imports."""
    command, *words = [*sys.argv[1:], ""]
    if command == "healthcheck" and not any(word.startswith("-") for word in words):
        from miner_service.healthcheck import require_healthy
        from pramana_core.errors import NotReady

        try:
            require_healthy(*filter(None, words))
        except NotReady as error:
            sys.stderr.write(f"{error.message}\n")
            sys.exit(error.exit_code)
    else:
        from miner_service.cli.main import main as run

        run()


if __name__ == "__main__":
    main()
