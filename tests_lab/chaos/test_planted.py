"""Brokers that die between two statements of their store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from sapwood_lab.chaos import planted
from sapwood_lab.chaos.plan import Area

_PROGRAM = """
import sys
from pathlib import Path
from sapwood.store.store import Store
from sapwood.store.writer import Writer
from sapwood_lab.chaos.planted import Bomb
bomb = Bomb(Path(sys.argv[1]))
bomb.plant()
store = Store(Path(sys.argv[2]), "b", clock=lambda: 0.0)
bomb.arm()
store.put("kind", "name", 1, b"value")
store.writer.commit(store.take())
store.writer.rest()
print("done")
store.close()
"""


def run(tmp_path: Path, order: str) -> subprocess.CompletedProcess[str]:
    """A program that commits once and rests, with an order."""
    (tmp_path / "b.order").write_text(order)
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path / "b.order"), str(tmp_path / "data")]
    return subprocess.run(
        command, env=dict(os.environ), capture_output=True, text=True, check=False
    )


def test_the_plan_names_all_areas() -> None:
    assert set(planted.AREAS) == set(get_args(Area))


@pytest.mark.parametrize("statements", [0, 3])
def test_a_process_dies_before_the_statement_that_was_ordered(
    statements: int, tmp_path: Path
) -> None:
    ended = run(tmp_path, f"rest {statements}")
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert ended.stdout == ""
    (died,) = (tmp_path / "b.died").read_text().splitlines()
    assert died.startswith("store/writer.py:")
    assert not (tmp_path / "b.order").exists(), "it is carried out once"


def test_who_does_not_come_to_the_point_lives(tmp_path: Path) -> None:
    ended = run(tmp_path, "rest 100000")
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr
    assert not (tmp_path / "b.died").exists()
