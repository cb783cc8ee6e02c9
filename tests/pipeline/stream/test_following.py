from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sapwood.errors import InputError
from sapwood.pipeline.stream import following
from sapwood.pipeline.stream.following import FollowedSet
from tests.pipeline.matching.test_versions import REPORT


def test_a_followed_set_is_loaded_again_only_for_a_new_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark: Any = object()
    reports = [None, REPORT, REPORT, replace(REPORT, version=10), replace(REPORT, version=10)]
    loaded: list[tuple[str, int]] = []

    def load(_spark: Any, path: str, report: Any) -> Any:
        loaded.append((path, report.version))
        return len(loaded)

    monkeypatch.setattr(following, "latest_report", lambda _spark, _path: reports.pop(0))
    monkeypatch.setattr(following, "compiled_version", load)
    followed = FollowedSet("set")
    with pytest.raises(InputError, match="set is no compiled set"):
        followed.newest(spark)
    found = [tuple(followed.newest(spark)) for _ in range(4)]
    assert found == [(9, 1), (9, 1), (10, 2), (10, 2)]
    assert loaded == [("set", 9), ("set", 10)]
