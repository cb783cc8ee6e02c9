"""The public names of `sapwood.testing`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sapwood import testing
from sapwood.matching.documents.reference import ReferenceXPathEngine
from sapwood.matching.index import Index

IMPORT = "import sys; from sapwood import testing; print(*sys.modules)"


def test_every_public_name_is_there_and_no_other() -> None:
    assert dir(testing) == sorted(testing.__all__)
    assert all(callable(getattr(testing, name)) for name in testing.__all__)
    with pytest.raises(AttributeError, match=r"'sapwood\.testing' has no attribute 'check_all'"):
        _ = testing.check_all


def test_nothing_is_imported_before_it_is_used() -> None:
    done = subprocess.run(
        (sys.executable, "-c", IMPORT), check=True, capture_output=True, text=True
    )
    ours = {name for name in done.stdout.split() if name.startswith("sapwood.")}
    assert ours == {"sapwood.testing"}


def test_conformance_suites_run_through_the_front_door(tmp_path: Path) -> None:
    testing.check_index(lambda: Index("counting"), tmp_path, rounds=1)
    testing.check_document_engine(ReferenceXPathEngine, steps=5)
