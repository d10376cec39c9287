"""Site files written line by line: a head, variables of few categories, and their channels."""

import tomllib

from owner_agent.site.site import site_from

HEAD = """
owner = "clinic"
table = "t.csv"
record_id = "id"
"""
VARIABLE = """
[[variables]]
name = "v"
column = "%s"
categories = ["a", "b"]
sensitive = %s
%s
"""
CHANNEL = 'channel = { kind = "symmetric", p = 0.2 }'


def site_of(folder, text, head=HEAD):
    """Return the site of a file that says a text after its head."""
    return site_from(tomllib.loads(head + text), folder)


def channel_of(words):
    """Return the inline table of a channel: `mask, p = 0.9` is `{ kind = "mask", p = 0.9 }`."""
    kind, comma, rest = words.partition(",")
    return f'{{ kind = "{kind}"{comma}{rest} }}'


def one(folder, words, categories='["a", "b"]', sensitive="true"):
    """Return a site of one variable A, with a channel unless its words are empty."""
    channel = f"channel = {channel_of(words)}\n" if words else ""
    text = f'[[variables]]\nname = "A"\ncategories = {categories}\nsensitive = {sensitive}\n'
    return site_of(folder, text + channel)
