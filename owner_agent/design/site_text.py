"""The chosen plan as text: variables and blocks for a site file, or the owners' study plan."""

from __future__ import annotations

from typing import Any

from owner_agent.site.site import Site
from owner_agent.site.writing import toml
from pramana_core.channels import RESOLUTION
from pramana_core.design import Design, Requirements
from pramana_core.errors import OptionError
from pramana_core.plan import Block


def site_text(design: Design, site: Site) -> str:
    """Return a site's `[[variables]]` and `[[blocks]]` by the chosen plan. Raises OptionError."""
    needs, plan = design.problem.needs, design.plan
    alone = {b.names[0]: b for b in plan.blocks if len(b.names) == 1}
    content: dict[str, list[dict[str, Any]]] = {"variables": []}
    for section in site.file.variables:
        keys = section.model_dump(exclude={"channel"}, exclude_none=True, exclude_defaults=True)
        if section.sensitive and section.name in alone:
            keys["channel"] = _channel(alone[section.name], needs)
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
        f"{design.chosen.family}: gamma {design.chosen.gamma:.6g} about the whole record.",
        "Put these in place of the variables and blocks of the site file.",
    )


def study_plan_text(design: Design) -> str:
    """Return the canonical JSON of the study plan. Raises OptionError for one owner."""
    if design.study_plan is None:
        raise OptionError(
            "The design is for one owner, who needs no study plan.",
            where="write-study-plan",
            remedy="Name all owners' public parts: owner-agent design PART...",
        )
    return design.study_plan.canonical_json().decode()


def _channel(block: Block, needs: Requirements) -> dict[str, Any]:
    """Return the keys of a designed block's channel."""
    choices = block.channel.choices
    if not choices:
        return block.channel.site_keys(needs.gamma, needs.share)
    return {
        "kind": "sampled",
        "gamma": needs.gamma,
        "subsets": [[block.names[a] for a in choice.axes] for choice in choices],
        "weights": [choice.weight / RESOLUTION for choice in choices],
    }
