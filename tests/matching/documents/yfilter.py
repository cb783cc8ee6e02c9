"""The benchmark of YFilter 1.0: its expressions and documents, where they are on this machine."""

from __future__ import annotations

import gzip
import tarfile
from functools import cache
from itertools import islice
from typing import Final

import pytest
from hypothesis import settings

from sapwood.language.xpath import XPathBounds
from tests.house import ROOT

FOLDER: Final = ROOT.parent / "shared" / "data" / "yfilter"
DISTINCT: Final = "queries-153928-d.txt.gz"
WITH_DUPLICATES: Final = "queries-500000.txt.gz"
_DOCUMENTS: Final = "nitf-500-documents.tar.gz"

BOUNDS: Final = XPathBounds(descendants=16)
"""Some of the benchmark's expressions have more `//` than the default allows."""

in_the_long_run_only = pytest.mark.skipif(
    settings.get_current_profile_name() != "fuzz", reason="takes a minute; runs with make fuzz"
)

needs_benchmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"the YFilter benchmark is not at {FOLDER}"
)


@cache
def nitf_documents() -> tuple[bytes, ...]:
    """The 500 documents, in the order of their names."""
    with tarfile.open(FOLDER / _DOCUMENTS) as archive:
        members = sorted((m for m in archive if m.name.endswith(".xml")), key=lambda m: m.name)
        files = [archive.extractfile(member) for member in members]
        return tuple(file.read() for file in files if file is not None)


def nitf_expressions(name: str, count: int | None = None) -> list[str]:
    """The first expressions of a file, all by default."""
    with gzip.open(FOLDER / name, "rt", encoding="ascii") as lines:
        return [line.strip() for line in islice(lines, count) if line.strip()]
