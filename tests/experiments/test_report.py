"""Reports."""

from __future__ import annotations

import pytest

from sapwood.experiments.report import Report


def test_report_gives_a_column_from_top_to_bottom() -> None:
    report = Report("t", {}, ("a", "b"), ((1, None), (2, "x")), "nothing")
    assert report.column("a") == [1, 2]
    assert report.column("b") == [None, "x"]
    with pytest.raises(ValueError, match="not in tuple"):
        report.column("c")
