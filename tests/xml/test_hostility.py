"""The cost of refusing hostile documents, kind by kind; `make long` shows the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.xml.hostile import hostile_documents
from tests.xml.hostility import Kind, table

ROOT = Path(__file__).parents[2]
MEMORY_MIB_MAX = 16.0


@pytest.mark.long
def test_hostile_documents_of_every_kind_are_refused_in_little_memory(
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.xml.hostility"],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert sum(int(row[1]) for row in rows) == len(list(hostile_documents()))
    assert max(float(row[4]) for row in rows) <= MEMORY_MIB_MAX
    with capsys.disabled():
        sys.stdout.write(f"\n{done.stdout}")


def test_table_of_hostile_kinds_has_a_line_each() -> None:
    kinds = [Kind("crowds", 2, 1.5, 2.5, 0.25, "many"), Kind("forms", 1, 0.0, 0.0, 0.0, "")]
    heading, *rows = table(kinds)
    assert heading.split()[:2] == ["kind", "documents"]
    assert [row.split()[:5] for row in rows] == [
        ["crowds", "2", "1.50", "2.50", "0.25"],
        ["forms", "1", "0.00", "0.00", "0.00"],
    ]
