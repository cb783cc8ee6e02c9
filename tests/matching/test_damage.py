"""No damaged index is loaded, and none brings its process down (`tests.matching.damage`)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.house import ROOT


def damaged(folder: Path, seed: int, rounds: int, *options: str) -> dict[str, Any]:
    """The report of a process of its own that damaged and loaded `rounds` indexes."""
    command = (sys.executable, "-m", "tests.matching.damage", str(seed), str(rounds), str(folder))
    done = subprocess.run(
        [*command, *options], check=False, cwd=ROOT, capture_output=True, text=True
    )
    *stories, last = done.stdout.splitlines() or [""]
    assert done.returncode == 0, f"exit {done.returncode} after: {last}\n{done.stderr[-2000:]}"
    assert len(stories) == rounds
    report: dict[str, Any] = json.loads(last)
    return report


@pytest.mark.parametrize(
    ("rounds", "options"),
    [(150, ("plain",)), pytest.param(10_000, (), marks=pytest.mark.long)],
)
def test_every_damaged_index_is_refused_with_the_file_and_the_remedy(
    tmp_path: Path, rounds: int, options: tuple[str, ...]
) -> None:
    report = damaged(tmp_path, 1, rounds, *options)
    assert report["wrong"] == []
    assert report["done"]["damaged"] > 0.8 * rounds
    assert report["done"]["unchanged"] > 0.03 * rounds
