"""What the pages' routes take from a request: the agent, the site as it is now, and a form."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from owner_agent.http.service import Agent
from owner_agent.site.site import Site, load_site
from pramana_core.pages.forms import Sent, require_word


def get_agent(request: Request) -> Agent:
    """Return the agent that the pages are of."""
    agent: Agent = request.app.state.agent
    return agent


AgentDep = Annotated[Agent, Depends(get_agent)]


def get_site(agent: AgentDep) -> Site:
    """Return the site as its file says now. Raises ConfigError."""
    return load_site(agent.site)


SiteDep = Annotated[Site, Depends(get_site)]


async def get_sent(request: Request) -> Sent:
    """Return the form that a request brings.

    Raises:
        InputError: it is no form.
        Forbidden: no page of this session made it.
    """
    sent = Sent.of(await request.body())
    state = request.scope["state"]
    require_word(state["key"], state["cookie"], sent.text("word"))
    return sent


SentDep = Annotated[Sent, Depends(get_sent)]
