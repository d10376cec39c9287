"""Writes error-codes.md: every exit code and error code, from the table in `pramana_core.errors`.

`make rooms` writes the page. A new code needs its line in `REMEDIES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pramana_core.errors import PramanaError, Refused, error_classes
from pramana_core.wire.services import HTTP_PROBLEMS

PAGE = Path(__file__).resolve().parent / "error-codes.md"

HEAD = """# Exit codes and error codes

A command that fails prints `error (CODE)`, the problem and, if there is one, what to do; its exit
code names the kind of problem. A service answers with a [problem
document](api.md), whose `code` is the same and whose `type` is `urn:pramana:problem:CODE`.
Codes stay; messages may change. The message of an error is more precise than this page. `make
rooms` writes this page from the table in `shared/pramana_core/errors.py`.

"""

EXIT_CODES = {
    0: ("done", "Nothing."),
    1: ("unforeseen failure", "Report the output and the version (`--version`)."),
    2: (
        "invalid usage, configuration or data",
        "Correct the option, file or column in the message.",
    ),
    3: ("a secret is missing or unsafe", "Restore the key, or run the `chmod` in the message."),
    4: ("rejected", "Change the state, rights, space or limit in the message."),
    5: ("the other side did not answer", "Check the network and address, and repeat the command."),
    6: ("the data do not suffice", "Use more records, fewer variables or less noise."),
}
"""The meaning of each exit code, and what to do."""

REMEDIES = {
    "error": "Report it with the message and the version (`--version`).",
    "input-invalid": "Correct the argument, option or field in the message.",
    "domain-invalid": "Give each variable a name of its own and at least one category.",
    "unknown-variable": "Use one of the variables in the message; check the spelling.",
    "unknown-category": "Use one of the variable's categories, or add the category to the site file"
    " before the first release.",
    "channel-invalid": "Choose parameters within the ranges of the channel"
    " ([site keys](site-keys.md)).",
    "plan-invalid": "Put every variable into exactly one block.",
    "sensitive-without-channel": "Give the variable a channel: `owner-agent design` proposes one.",
    "plan-conflict": "Keep the earlier channel. `--accept-added-loss` releases the column again at"
    " the sum of both losses.",
    "records-corrected": "Choose `publish --corrections keep`, or randomize all records again with"
    " `owner-agent new-epoch`.",
    "records-exchanged": "If the new records are other people, add `--accept-new-people` or"
    " `--accept-added-loss`; otherwise restore the earlier record ids.",
    "structure-invalid": "Remove the cycle, the repeated parent or the unknown variable.",
    "option-invalid": "Choose a value in the range of the message.",
    "protocol-unsupported": "Install the same version on both sides; upgrade the miner first.",
    "config-invalid": "Correct the file at the key in the message. `owner-agent doctor` and"
    " `miner-service doctor` examine the installation.",
    "table-invalid": "Correct the table or the site file; `owner-agent check` lists all problems.",
    "record-id-duplicate": "Remove the repeated rows, or choose a column that identifies records.",
    "model-invalid": "Ask the owner who made the file for it again.",
    "requirement-unmet": "Weaken the requirement in `[share_model]`, or use more records.",
    "key-file": "Restore the key from your backup, or run the `chmod` in the message and consider"
    " who may have read the file.",
    "estimation-failed": "Use more records, fewer variables or less noise.",
    "not-converged": "Allow more iterations, or use fewer variables.",
    "state": "Do the step in the message first.",
    "not-found": "Check the name and your rights: an object of others appears absent.",
    "conflict": "Use another name or the same content, or wait until the other command ends.",
    "changed-since-shown": "Look at the preview again and confirm it.",
    "part-invalid": "Publish again with the current version of the agent.",
    "budget-exceeded": "Choose more noise, or ask the operator for a larger budget.",
    "study-plan-not-followed": "Fetch the study's plan with `owner-agent join`.",
    "linkage-differs": "Import the other owners' linkage secret (`owner-agent keys import`).",
    "records-do-not-align": "Compare the record ids of the owners: their form and spelling.",
    "variables-missing": "Wait until the owners have published these variables.",
    "not-ready": "Repeat the request later. The operator looks at `/readyz` and"
    " `miner-service doctor`.",
    "storage-full": "Free space on that disk, and repeat the command.",
    "too-many-requests": "Wait for the seconds in `Retry-After`.",
    "not-installed": "Install the extra in the message.",
    "counts-too-small": "Use fewer parents or coarser categories.",
    "other-groupings": "Keep the groups of the first session, or see"
    " [peers](peers.md#peers-that-choose-the-groups).",
    "session-ended": "Start the session again; the message says which owner ended it.",
    "store-corrupt": "Restore a backup. `miner-service check` lists the damage of a miner.",
    "schema-unsupported": "Start the service of this version, which upgrades the tables, or run the"
    " version of the miner that made them.",
    "history-lost": "Restore the latest state folder, or begin a new epoch"
    " ([guide](owner-guide.md#when-the-state-folder-is-lost)).",
    "worker-lost": "Give the workers more memory, or use a smaller job.",
    "forbidden": "Use a token with the right role.",
    "unauthenticated": "Ask for a new invitation or token.",
    "limit-exceeded": "Make it smaller, or ask the operator to raise the limit.",
    "transport": "Check that the address is a miner's or an owner's, of the same version.",
    "miner-unreachable": "Check the address, the network and the certificate;"
    " `owner-agent doctor` finds the cause.",
    "miner-refused": "Follow the miner's message; its own code is in parentheses.",
    "peer-unreachable": "Check the other owner's address, and start the session again.",
    "peer-deviated": "Do not use the result. Compare versions and session files with that owner.",
    "request-invalid": "Correct the request by [the API](api.md).",
    "method-not-allowed": "Use a method in the header `Allow`.",
    "request-timeout": "Send smaller parts, or use a faster connection.",
    "internal": "Inform the operator; the service's log has the cause.",
}
"""What to do about each code."""


def page() -> str:
    """Return the page."""
    rows = [f"| {code} | {what} | {remedy} |" for code, (what, remedy) in EXIT_CODES.items()]
    table = ["| exit code | meaning | what to do |", "| ---: | --- | --- |", *rows, ""]
    return HEAD + "\n".join([*table, "## Error codes", ""]) + "".join(_sections())


def _sections() -> Iterator[str]:
    """Yield a section for each code, in alphabetical order; its anchor is the code."""
    kinds: dict[str, list[type[PramanaError]]] = {}
    for kind in error_classes():
        kinds.setdefault(kind.code, []).append(kind)
    for code in sorted({*kinds, *HTTP_PROBLEMS}):
        if code in kinds:
            first, exit_code = kinds[code][0], kinds[code][0].exit_code
            status, title = first.http_status, first.title
            meaning = " ".join(_meaning(kind) for kind in kinds[code])
        else:
            (status, title), meaning, exit_code = HTTP_PROBLEMS[code], "", Refused.exit_code
        yield (
            f"\n### {code}\n\n{title} (HTTP {status}, exit code {exit_code}). {meaning}".rstrip()
            + f"\n\n**What to do:** {REMEDIES[code]}\n"
        )


def _meaning(kind: type[PramanaError]) -> str:
    """Return the class and the first paragraph of its docstring."""
    if kind is PramanaError:
        return "`PramanaError`: an error that the program did not foresee."
    return f"`{kind.__name__}`: {' '.join((kind.__doc__ or '').split(chr(10) * 2)[0].split())}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
