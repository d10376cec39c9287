"""Lists the options of every kind of job in job-options.md, from the schemas that the miner serves.

`make rooms` writes the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent / "job-options.md"

HEAD = """# Options of jobs

The `spec` of a job, kind by kind, as `GET /openapi.json` and `pramana study kinds KIND` have it.
The miner chooses what is left out, alike for the browser, the terminal, REST and Python. `make
rooms` writes this page.

Every kind that counts takes `estimator`, `order` and `records` ([API](api.md#jobs-and-models)).
"""

_COMMON = ("kind", "estimator", "order", "records")
_LARGE = {10**12: "10^12", 1 << 53: "2^53"}
_SECTION = re.compile(r"\n\s*(?:Args|Attributes):\n")


def page() -> str:
    """Return the page."""
    from miner_service.kinds import JOB_KINDS

    return HEAD + "".join(_of_kind(kind.model_json_schema()) for kind in JOB_KINDS)


def _of_kind(schema: dict[str, Any]) -> str:
    name = schema["properties"]["kind"]
    words, *meanings = _SECTION.split(schema.get("description", ""))
    meant = dict(_meanings("\n".join(meanings)))
    rows = [
        f"| `{option}` | {_default(option, field, schema)} | {_limits(field)} |"
        f" {meant.get(option, '')} |"
        for option, field in schema["properties"].items()
        if option not in _COMMON
    ]
    kind = name.get("const") or name["default"]
    head = "| option | if left out | limits | meaning |\n|---|---|---|---|\n"
    return f"\n## `{kind}`\n\n{_paragraphs(words)}\n\n{head}" + "\n".join(rows) + "\n"


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def _meanings(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and meanings of a docstring's list of arguments."""
    indent = min((len(i) for i in re.findall(r"^( *)\w+: ", text, re.MULTILINE)), default=0)
    for part in re.split(rf"^ {{{indent}}}(?=\w+: )", text, flags=re.MULTILINE)[1:]:
        name, _, meaning = part.partition(": ")
        yield name, " ".join(meaning.split("\n\n")[0].split())


def _default(option: str, field: dict[str, Any], schema: dict[str, Any]) -> str:
    if option in schema.get("required", ()):
        return "required"
    return f"`{json.dumps(field['default'])}`" if field.get("default") is not None else ""


def _limits(field: dict[str, Any]) -> str:
    forms = [field, *field.get("anyOf", ())]
    choices = [str(c) for form in forms for c in form.get("enum", ())]
    words = {
        "minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most",
        "exclusiveMaximum": "below",
    }  # fmt: skip
    ends = [(words[k], form[k]) for form in forms for k in words if k in form]
    found = [f"{word} {_LARGE.get(end, end)}" for word, end in ends]
    return ", ".join(choices or found)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
