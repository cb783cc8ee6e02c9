from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError
from sapwood.matching.index import Index
from sapwood.pipeline.matching.versions import (
    CompiledSet,
    CompileReport,
    latest_report,
    version_path,
    write_report,
)

REPORT = CompileReport(9, "d", 10, 1, 2, 3, 1, 3, 2, 1, ("x",), 0, (("why", 1),))


@pytest.mark.spark
def test_the_latest_report_is_that_of_the_highest_version(spark: Any, tmp_path: Path) -> None:
    out = str(tmp_path / "set")
    assert latest_report(spark, out) is None
    for version in (9, 10, 2):
        write_report(spark, out, replace(REPORT, version=version))
    # What has no report yet does not count.
    (tmp_path / "set" / "version=11" / "entries").mkdir(parents=True)
    assert latest_report(spark, f"{out}/") == replace(REPORT, version=10)
    broken = Path(version_path(out, 12), "report")
    broken.mkdir(parents=True)
    (broken / "part-0.txt").write_text("{}")
    with pytest.raises(FileFormatError, match="cannot be read"):
        latest_report(spark, out)


def test_good_are_all_that_were_not_rejected() -> None:
    assert REPORT.good == 9


def test_a_compiled_set_asks_all_segments(tmp_path: Path) -> None:
    for number, filters in enumerate(({"k@r1": "x > 1", "l@r2": "x > 5"}, {"m@r1": "x > 2"})):
        index = Index(records="counting")
        for id_, text in filters.items():
            index.add(id_, text)
        index.save(tmp_path / "index" / f"segment-{number}")
    compiled = CompiledSet.load(tmp_path)
    assert len(compiled) == 3
    assert compiled.homes({"x": 6}) == ["r1", "r2"]
    assert compiled.homes({"x": 3}) == ["r1"]
    assert compiled.homes({}) == []
    with pytest.raises(FileFormatError, match="has no index"):
        CompiledSet.load(tmp_path / "index")
