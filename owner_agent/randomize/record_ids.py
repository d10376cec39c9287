"""The normal form of record ids, which pseudonyms are computed from.

Two tools may write an id with invisible differences. These are removed (Unicode NFKC, surrounding
spaces, format characters). Visible differences remain, so 007 and 7 are two ids.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_UNSEEN = r"[\p{Cf}\p{Cc}\x{034F}\x{180B}-\x{180F}\x{FE00}-\x{FE0F}\x{E0100}-\x{E01EF}]"
"""Format characters, control characters and variation selectors."""


def normalized_ids(ids: pa.Array) -> pa.Array:
    """Return record ids in normal form."""
    if not pc.all(pc.ascii_is_printable(ids)).as_py():
        ids = pc.utf8_normalize(pc.replace_substring_regex(ids, _UNSEEN, ""), form="NFKC")
    return pc.utf8_trim_whitespace(ids)
