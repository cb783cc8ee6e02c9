"""Public data that some tests read: it is no part of the project, and may be absent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent


def data_file(*names: str) -> Path:
    """A file or folder of the data; skips the test where it is absent.

    It lies in the folder that `SAPWOOD_DATA` names, beside the project in `shared/data` otherwise.
    """
    folder = Path(os.environ.get("SAPWOOD_DATA", ROOT.parent / "shared" / "data"))
    path = folder.joinpath(*names)
    if not path.exists():
        pytest.skip(f"{'/'.join(names)} is not among the data; set SAPWOOD_DATA to its folder")
    return path
