"""How a record id is written before it becomes a pseudonym, whatever tool wrote it.

What people cannot see is taken away (Unicode NFKC, spaces around, marks of format). What people can
see stays: 007 and 7 are two ids.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_UNSEEN = r"[\p{Cf}\p{Cc}\x{034F}\x{180B}-\x{180F}\x{FE00}-\x{FE0F}\x{E0100}-\x{E01EF}]"
"""Marks of format, control characters, and those that only choose how another one is drawn."""


def normalized_ids(ids: pa.Array) -> pa.Array:
    """Return record ids in the one form that pseudonyms are made of."""
    if not pc.all(pc.ascii_is_printable(ids)).as_py():
        ids = pc.utf8_normalize(pc.replace_substring_regex(ids, _UNSEEN, ""), form="NFKC")
    return pc.utf8_trim_whitespace(ids)
