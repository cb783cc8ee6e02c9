"""Names beside a saved segment."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sapwood import parse_filter
from sapwood.errors import FileFormatError
from sapwood.matching.columnar.engine import ColumnarEngine
from sapwood.matching.columnar.saving import LAYOUT, Names, read_names, write
from sapwood.matching.storage import Folder

NOWHERE = np.zeros(0, np.int64)


@pytest.mark.parametrize("mean_candidates", [None, 2.5])
def test_names_come_back(tmp_path: Path, mean_candidates: float | None) -> None:
    names = Names(["a", "b.c"], [("a", "%x")], mean_candidates)
    write(Folder(tmp_path), names, NOWHERE, [])
    assert read_names(Folder(tmp_path)) == names


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("attributes", {}),
        ("attributes", [1]),
        ("probes", [["a"]]),
        ("probes", "x"),
        ("layout", 3),
        ("layout", {}),
        ("layout", {"layout": LAYOUT - 1, "usual": None}),
        ("layout", {"layout": LAYOUT, "usual": "often"}),
    ],
)
def test_damaged_names_are_told(tmp_path: Path, name: str, content: object) -> None:
    write(Folder(tmp_path), Names(["a"], [], None), NOWHERE, [])
    (tmp_path / f"{name}.json").write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match=name):
        read_names(Folder(tmp_path))


def test_engine_of_another_layout_is_refused_with_the_remedy(tmp_path: Path) -> None:
    engine = ColumnarEngine()
    engine.add(0, parse_filter("a like '%x%'"))
    engine.save(tmp_path)
    (tmp_path / "layout.json").write_text(json.dumps({"layout": 2, "usual": None}))
    with pytest.raises(FileFormatError, match="layout 2, this program reads 6; build the index"):
        ColumnarEngine().load(tmp_path, ())


def test_engine_of_the_time_before_layouts_is_refused(tmp_path: Path) -> None:
    ColumnarEngine().save(tmp_path)
    (tmp_path / "layout.json").unlink()
    with pytest.raises(FileFormatError, match="layout"):
        ColumnarEngine().load(tmp_path, ())
