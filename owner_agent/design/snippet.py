"""The chosen plan in the words of a site file, so that reading it back makes the same plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from owner_agent.design.design_file import DesignFile
from owner_agent.site.site import Site
from owner_agent.site.writing import toml
from owner_agent.state.private_files import COMMON_MODE, write_durably
from pramana_core.channels import RESOLUTION, CutAndPaste, Mixture, OneHot, RandomSymmetric
from pramana_core.design import Option, Requirements
from pramana_core.errors import OptionError
from pramana_core.plan import Block
from pramana_core.study_plan import StudyPlan

SHARE = 0.5
"""The share of RAN-GD's alpha that `random_gamma_diagonal` uses."""


def snippet(made: Option, needs: Requirements, entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Return `[[variables]]` and `[[blocks]]` for a site file that make an option's plan.

    Requirements are written, not the channels' own amplifications, which rounding has lowered; and
    weights as the exact multiples of 2^-32 they are.

    Args:
        made: the option.
        needs: the requirements it was made for.
        entries: the further keys of each variable: its categories or how to find them.

    Raises:
        OptionError: the option has no plan, or none that a site file can state.
    """
    if needs.owners:
        raise OptionError(
            "A plan of several owners is not written for one site file.",
            where="write",
            remedy="Write the study plan with --write-study-plan; each owner's site file names it.",
        )
    if made.plan is None:
        raise OptionError(
            f"{made.family} has no plan to write. {made.reason}",
            where="write",
            remedy="Choose another family.",
        )
    alone = {b.names[0]: b for b in made.plan.blocks if len(b.names) == 1}
    content: dict[str, list[dict[str, Any]]] = {"variables": []}
    for variable in needs.domain:
        name, sensitive = variable.name, variable.name in needs.variables
        keys = {"name": name, **entries[name], "sensitive": sensitive}
        if sensitive and name in alone:
            keys["channel"] = _channel(alone[name], needs)
        content["variables"].append(keys)
    blocks = [
        {"variables": list(block.names), "channel": _channel(block, needs)}
        for block in made.plan.blocks
        if len(block.names) > 1
    ]
    if blocks:
        content["blocks"] = blocks
    return toml(
        content,
        f"{made.family}: gamma {made.gamma:.6g} about the whole record.",
        "Put these in place of the variables and blocks of the site file.",
    )


def study_plan_text(plan: StudyPlan | None) -> str:
    """Return the canonical JSON of a study plan. Raises OptionError where there is none."""
    if plan is None:
        raise OptionError(
            "The design is of one owner, who needs no study plan.",
            where="write-study-plan",
            remedy='Give each variable of the design file its owner = "name".',
        )
    return plan.canonical_json().decode()


def save(path: Path, text: str) -> None:
    """Write a new file, whole or not at all.

    Raises:
        OptionError: one is there, or it cannot be written.
        StorageFull: there is no room for it.
    """
    try:
        write_durably(path, text.encode(), COMMON_MODE)
    except OSError as error:
        raise OptionError(
            f"{path} cannot be written: {error.strerror}.",
            where="write",
            remedy="Name a new file; nothing is written over.",
        ) from error


def entries_of_site(site: Site) -> dict[str, dict[str, Any]]:
    """Return the keys that a site file has for its variables, but for their protection."""
    gone = {"name", "sensitive", "channel"}
    return {v.name: v.model_dump(exclude=gone, exclude_none=True) for v in site.file.variables}


def entries_of_file(file: DesignFile) -> dict[str, dict[str, Any]]:
    """Return the categories of a design file's variables; numbers where it names none."""
    return {v.name: {"categories": v.labels} for v in file.variables}


def _channel(block: Block, needs: Requirements) -> dict[str, Any]:
    """Return the keys of a designed block's channel."""
    channel = block.channel
    if channel.choices:
        return _sampled(block, needs)
    whole = needs.of_block(block.names)
    match channel:
        case Mixture():
            return {"kind": "gamma-diagonal", "gamma": whole}
        case RandomSymmetric():
            return {"kind": "random-gamma-diagonal", "gamma": whole, "share": SHARE}
        case CutAndPaste():
            return {"kind": "cut-and-paste", "keep": channel.cut, "gamma": whole}
        case OneHot():
            return {"kind": "mask", "gamma": needs.split()[block.names[0]]}
    return {"kind": "symmetric", "gamma": needs.split()[block.names[0]]}


def _sampled(block: Block, needs: Requirements) -> dict[str, Any]:
    choices = block.channel.choices
    subsets = [[block.names[a] for a in choice.axes] for choice in choices]
    gammas = [needs.of_block(names) for names in subsets]
    return {
        "kind": "sampled",
        **({"gamma": gammas[0]} if len(set(gammas)) == 1 else {"gammas": gammas}),
        "subsets": subsets,
        "weights": [choice.weight / RESOLUTION for choice in choices],
    }
