"""The bench of synopses: two ways, one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sapwood.errors import InvariantError
from sapwood.files.synopses import load_synopsis
from sapwood_lab.benchmarks import synopsis as bench


def test_lines_are_documents_over_and_over() -> None:
    some = list(bench.lines(bench.DRAWN + 2))
    assert len(some) == bench.DRAWN + 2
    assert some[0].split(b"document")[1] == some[bench.DRAWN].split(b"document")[1]
    assert some == list(bench.lines(bench.DRAWN + 2))


def test_a_row_for_each_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ways: list[str] = []

    def here(_module: str, arguments: Sequence[object], _subject: str) -> bytes:
        source, out, way = map(str, arguments)
        ways.append(way)
        bench.main(source, out, bench.WAYS[0])
        assert load_synopsis(out).documents == 30
        return b""

    monkeypatch.setattr(bench, "run_apart", here)
    rows = bench.run_synopsis_bench((30,), tmp_path)
    assert ways == list(bench.WAYS)
    assert [row["way"] for row in rows] == ways
    assert rows[0]["times"] == 1
    assert all(row["documents"] == 30 and row["seconds"] > 0 for row in rows)


def test_synopses_that_differ_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(_module: str, arguments: Sequence[object], _subject: str) -> bytes:
        Path(str(arguments[1])).write_bytes(str(arguments[2]).encode())
        return b""

    monkeypatch.setattr(bench, "run_apart", other)
    with pytest.raises(InvariantError, match="differ by how"):
        bench.run_synopsis_bench((2,), tmp_path)
