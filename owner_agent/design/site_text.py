"""Writing the chosen plan into a site file, or as the study plan of several owners."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from owner_agent.site.site import Site
from owner_agent.site.writing import ExtendedSite
from pramana_core.channels import RESOLUTION
from pramana_core.design import Design, Requirements
from pramana_core.errors import OptionError
from pramana_core.plan import Block


def site_with(design: Design, site: Site, path: Path) -> ExtendedSite:
    """Return the site file with the channels of the chosen plan, not written to disk yet.

    The channels state the gamma that the plan was built for, and weights that are exact multiples
    of 2^-32. Raises OptionError if the chosen family has no plan.
    """
    plan = design.plan
    needs = replace(design.problem.needs, gamma=design.chosen.built_for)
    alone = {b.names[0]: b for b in plan.blocks if len(b.names) == 1}
    channels = {
        one.name: {
            "channel": _channel(alone[one.name], needs)
            if one.sensitive and one.name in alone
            else None
        }
        for one in site.file.variables
        if one.channel is not None or (one.sensitive and one.name in alone)
    }
    blocks = [
        {"variables": list(block.names), "channel": _channel(block, needs)}
        for block in plan.blocks
        if len(block.names) > 1
    ]
    return ExtendedSite.of(path, {"blocks": blocks}, channels)


def study_plan_text(design: Design) -> str:
    """Return the canonical JSON of the study plan. Raises OptionError for a single owner."""
    if design.study_plan is None:
        raise OptionError(
            "The design is for one owner, who needs no study plan.",
            where="write-study-plan",
            remedy="Name the public parts of all owners: owner-agent design PART...",
        )
    return design.study_plan.canonical_json().decode()


def _channel(block: Block, needs: Requirements) -> dict[str, Any]:
    """Return the keys that describe a designed block's channel in the site file."""
    choices = block.channel.choices
    if not choices:
        return block.channel.site_keys(needs.gamma, needs.share)
    return {
        "kind": "sampled",
        "gamma": needs.gamma,
        "subsets": [[block.names[a] for a in choice.axes] for choice in choices],
        "weights": [choice.weight / RESOLUTION for choice in choices],
        **({"report": "subset"} if any(choice.channel.tags for choice in choices) else {}),
    }
