"""Sharing a tree at a miner in memory, and what arrives there."""

from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import publish
from owner_agent.release.tree import PreparedTree


def unwatched(_stage, _done, _total):
    """Watch nothing."""


def shared(bench, **options):
    """Publish a tree; `show` is called with what leaves before it does."""
    show = options.pop("show", lambda _now: None)
    chosen = PublishOptions(**options)
    return publish(PreparedTree, bench.site, bench.environment, chosen, show=show)
