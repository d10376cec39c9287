"""Where the tests find the project, and the public tables that lie beside it."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

DATA = Path(os.environ.get("PRAMANA_DATA", ROOT.parent / "shared" / "data"))
