"""Network structures in the DOT language of Graphviz."""

from __future__ import annotations

from collections.abc import Mapping

from pramana_core.learn.networks.structure import Structure

_THIN, _THICK = 0.6, 3.0


def write_dot(
    structure: Structure,
    name: str = "network",
    confidence: Mapping[tuple[str, str], float | None] | None = None,
) -> str:
    """Return a structure as a DOT digraph.

    Args:
        structure: the nodes and links.
        name: the graph's name.
        confidence: the probability of each link, by (parent, child): it becomes the link's label
            and the width of its line. A link without one is drawn plainly.
    """
    known = confidence or {}
    lines = [f"digraph {_quoted(name)} {{", '  node [shape=box, style="rounded"];']
    lines += [f"  {_quoted(node)};" for node in structure.nodes]
    for parent, child in structure.links:
        link = f"{_quoted(parent)} -> {_quoted(child)}"
        lines.append(f"  {link}{_attributes(known.get((parent, child)))};")
    return "\n".join([*lines, "}"]) + "\n"


def _attributes(confidence: float | None) -> str:
    if confidence is None:
        return ""
    width = _THIN + (_THICK - _THIN) * confidence
    return f' [label="{confidence:.2f}", penwidth={width:.2f}]'


def _quoted(text: str) -> str:
    """Quote a name, whatever is in it.

    In a quoted name only the quotation mark is escaped, but a label, which is the name unless it
    is given, reads backslashes; a name that ended in one would swallow its closing mark.
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
