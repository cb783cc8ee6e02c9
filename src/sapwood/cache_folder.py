"""The folder in which Sapwood may keep what it can make again."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def user_cache(environ: Mapping[str, str] | None = None) -> Path:
    """The folder in which Sapwood may keep what it can make again."""
    environ = os.environ if environ is None else environ
    if environ.get("XDG_CACHE_HOME"):
        base = Path(environ["XDG_CACHE_HOME"])
    elif sys.platform == "win32" and environ.get("LOCALAPPDATA"):
        base = Path(environ["LOCALAPPDATA"])
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path.home() / ".cache"
    return base / "sapwood"
