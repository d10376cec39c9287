"""The chosen plan as text: variables and blocks for a site file, or the owners' study plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from owner_agent.design.design_file import DesignFile
from owner_agent.site.site import Site
from owner_agent.site.writing import toml
from pramana_core.channels import RESOLUTION
from pramana_core.design import Design, Requirements
from pramana_core.errors import OptionError
from pramana_core.plan import Block


def site_text(design: Design, entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Return `[[variables]]` and `[[blocks]]` for a site file that make the chosen plan.

    The gammas written are those demanded, not the channels' own, which rounding has lowered;
    weights are the exact multiples of 2^-32 that they are.

    Args:
        design: the design.
        entries: further keys of each variable.

    Raises:
        OptionError: the design has several owners, or no plan.
    """
    needs = design.problem.needs
    if needs.owners:
        raise OptionError(
            "A plan of several owners is not written for one site file.",
            where="write",
            remedy="Write the study plan with --write-study-plan; `owner-agent join` names it in"
            " each owner's site file.",
        )
    made, plan = design.chosen, design.plan
    alone = {b.names[0]: b for b in plan.blocks if len(b.names) == 1}
    content: dict[str, list[dict[str, Any]]] = {"variables": []}
    for variable in needs.domain:
        name, sensitive = variable.name, variable.name in needs.variables
        keys = {"name": name, **entries[name], "sensitive": sensitive}
        if sensitive and name in alone:
            keys["channel"] = _channel(alone[name], needs)
        content["variables"].append(keys)
    blocks = [
        {"variables": list(block.names), "channel": _channel(block, needs)}
        for block in plan.blocks
        if len(block.names) > 1
    ]
    if blocks:
        content["blocks"] = blocks
    return toml(
        content,
        f"{made.family}: gamma {made.gamma:.6g} about the whole record.",
        "Put these in place of the variables and blocks of the site file.",
    )


def study_plan_text(design: Design) -> str:
    """Return the canonical JSON of the study plan. Raises OptionError for one owner."""
    if design.study_plan is None:
        raise OptionError(
            "The design is of one owner, who needs no study plan.",
            where="write-study-plan",
            remedy="Name all owners' public parts (owner-agent design PART...), or give each"
            ' variable of the design file its owner = "name".',
        )
    return design.study_plan.canonical_json().decode()


def entries_of_site(site: Site) -> dict[str, dict[str, Any]]:
    """Return the keys that a site file has for its variables, but for their protection."""
    gone = {"name", "sensitive", "channel"}
    return {v.name: v.model_dump(exclude=gone, exclude_none=True) for v in site.file.variables}


def entries_of_file(file: DesignFile) -> dict[str, dict[str, Any]]:
    """Return the categories of a design file's variables; numbers where it names none."""
    return {v.name: {"categories": v.labels} for v in file.variables}


def _channel(block: Block, needs: Requirements) -> dict[str, Any]:
    """Return the keys of a designed block's channel."""
    if block.channel.choices:
        return _sampled(block, needs)
    share = needs.split()[block.names[0]]
    return block.channel.site_keys(needs.of_block(block.names), share)


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
