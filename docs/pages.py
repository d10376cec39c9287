"""The pages that are made when the site is built: the reference, and files that lie beside docs/.

A hook of `mkdocs.yml`. The reference has every name of `pramana/__init__.pyi`, put into a group by
the room it comes from; a name of no group stops the build.
"""

from __future__ import annotations

import inspect
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Group:
    """A page of the reference: what it is about, and the rooms or modules its names come from."""

    page: str
    title: str
    about: str
    rooms: tuple[str, ...]
    inherited: bool = True
    """Whether what classes inherit is told of each."""
    besides: tuple[str, ...] = ()
    """Classes that nobody makes by name, but that its functions return."""


GROUPS = (
    Group(
        "data",
        "Data",
        "Tables as they are passed, variables, and the public lists of their categories.",
        ("pramana.frames", "pramana_core.domain"),
    ),
    Group(
        "plans",
        "Plans",
        "How each column is randomized: channels, plans of them, and the designer.",
        ("pramana.plans", "pramana.designing", "pramana_core.channels", "pramana_core.plan"),
        inherited=False,
    ),
    Group(
        "owner",
        "The owner",
        "Keys, randomizing, and what all of it together tells about a person.",
        ("pramana.owner",),
    ),
    Group(
        "masking",
        "Masking numbers",
        "Confidential numeric columns masked beside the others, what that keeps and what it tells.",
        ("pramana.masking",),
    ),
    Group(
        "model-sharing",
        "Sharing models",
        "Trees that leave in place of records, and what is learned from several owners' trees.",
        ("pramana.model_sharing", "pramana_core.model_sharing"),
    ),
    Group(
        "reports",
        "Reports and counts",
        "What an owner gives away, and the counts estimated from it, with both errors.",
        ("pramana.reporting",),
    ),
    Group(
        "learners",
        "Learners",
        "Classifiers and networks that learn from reports; each has `fit`, as in scikit-learn.",
        ("pramana.estimators",),
    ),
    Group(
        "rules",
        "Itemsets and rules",
        "Frequent itemsets and association rules, as estimators and in mlxtend's shape.",
        ("pramana.estimators.rules",),
    ),
    Group(
        "files",
        "Files",
        "Plans, reports and models as files with a version, and back; never a pickle.",
        ("pramana.exchange", "pramana.saving"),
    ),
    Group(
        "client",
        "A miner's service",
        "The same estimators as jobs at a miner.",
        ("pramana.client",),
        besides=(
            "pramana.client.connecting.Miner",
            "pramana.client.study.Study",
            "pramana.client.job.Job",
            "pramana.client.standing.Alignment",
            "pramana.client.standing.Disclosure",
        ),
    ),
    Group(
        "errors",
        "Errors",
        "What is raised on purpose; each says in one sentence what was given and what is wanted.",
        ("pramana.errors",),
        inherited=False,
    ),
)

BESIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "deploy/README.md": "deploy.md",
}
"""Files outside docs/ that are pages of the site, and where they are there."""


def public_names() -> dict[str, str]:
    """Return the public names in their order, each with the module that it is made in."""
    import pramana
    from pramana import errors

    return {
        name: errors.__name__ if name in errors.__all__ else getattr(pramana, name).__module__
        for name in pramana.__all__
    }


def grouped(names: Mapping[str, str]) -> dict[Group, list[str]]:
    """Return the names of each group, sorted. Raises ValueError for a name of no group."""
    found: dict[Group, list[str]] = {group: [] for group in GROUPS}
    for name, module in sorted(names.items(), key=lambda item: item[0].lower()):
        fitting = [
            (len(room), group)
            for group in GROUPS
            for room in group.rooms
            if f"{module}.".startswith(f"{room}.")
        ]
        if not fitting:
            raise ValueError(f"{name} of {module} has no group in docs/pages.py.")
        found[max(fitting, key=lambda item: item[0])[1]].append(name)
    return found


def reference() -> dict[str, str]:
    """Return the pages of the reference: their paths below docs/ and their text."""
    groups = {group: names for group, names in grouped(public_names()).items() if names}
    pages = {
        f"reference/{group.page}.md": f"# {group.title}\n\n{group.about}\n\n"
        + "\n".join(
            _described(group, path)
            for path in (*(f"pramana.{name}" for name in names), *group.besides)
        )
        for group, names in groups.items()
    }
    index = (
        "# Reference\n\nEverything that `import pramana as pm` offers, from the docstrings."
        " Each example runs as a test.\n"
    )
    for group, names in groups.items():
        index += (
            f"\n## [{group.title}]({group.page}.md)\n\n{group.about}\n\n| name | what it is |\n"
        )
        index += "| --- | --- |\n" + "".join(_row(group, name) for name in names)
    return {"reference/index.md": index, **pages}


def _described(group: Group, path: str) -> str:
    options = "" if group.inherited else "    options:\n      inherited_members: false\n"
    return f"::: {path}\n{options}"


def _row(group: Group, name: str) -> str:
    import pramana

    said = (inspect.getdoc(getattr(pramana, name)) or "").partition("\n")[0]
    return f"| [`{name}`]({group.page}.md#pramana.{name}) | {said} |\n"


def on_config(config: MkDocsConfig) -> None:
    """Put the reference into the navigation, where it says `Reference`."""
    pages = list(reference())
    config.nav = [{"Reference": pages} if item == "Reference" else item for item in config.nav]


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages that are no files below docs/."""
    from mkdocs.structure.files import File

    for path, text in reference().items():
        files.append(File.generated(config, path, content=text))
    for source, path in BESIDE.items():
        files.append(File.generated(config, path, content=(ROOT / source).read_text("utf-8")))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make a page of a file: its links lead to pages, or name a file that is none.

    Names that tests give to blocks of code, after the language, are left out.
    """
    del config
    at = page.file.src_uri
    here = next((source for source, path in BESIDE.items() if path == at), f"docs/{at}")

    def link(match: re.Match[str]) -> str:
        words, target, part = match.groups(default="")
        if "://" in target:
            return match[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
        path = BESIDE.get(file, file.removeprefix("docs/"))
        if files.get_file_from_path(path):
            return f"[{words}]({posixpath.relpath(path, posixpath.dirname(at) or '.')}{part})"
        return words if words.strip("`") in file else f"{words} (`{file}`)"

    if not at.endswith(".md"):
        return markdown
    markdown = re.sub(r"^(```\w+) [\w -]+$", r"\1", markdown, flags=re.MULTILINE)
    return re.sub(r"\[([^\[\]]*)\]\(([^()#\s]+)(#[^()\s]*)?\)", link, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leave out of notebooks what would load mathematics and diagrams from elsewhere."""
    del config, files
    if not page.file.src_uri.endswith(".ipynb"):
        return html
    html = re.sub(
        r"<!-- Load mathjax -->.*?<!-- End of mathjax [^>]*-->", "", html, flags=re.DOTALL
    )
    scripts = r'<script type="module">(?:(?!</script>).)*mermaid.*?</script>'
    return re.sub(scripts, "", html, flags=re.DOTALL)
