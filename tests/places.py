"""Where the tests find the project, and the public tables that lie beside it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

DATA = ROOT.parent / "shared" / "data"
