from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from sapwood.pipeline.spark import progress
from sapwood.pipeline.spark.progress import task_progress

pytest.importorskip("rich")


class Terminal(io.StringIO):
    """An output that passes for a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, int]]]:
    """The states that the bar is put into: (tasks done, tasks in all)."""
    from rich.progress import Progress

    states: list[tuple[int, int]] = []

    def update(_: Any, __: Any, *, completed: int, total: int) -> None:
        states.append((completed, total))

    monkeypatch.setattr(Progress, "update", update)
    monkeypatch.setattr(sys, "stderr", Terminal())
    yield states


def test_standard_output_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tracker = SimpleNamespace(getActiveStageIds=list)
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with task_progress(spark, "working"):
        sys.stdout.write("a result\n")
    assert capsys.readouterr().out == "a result\n"
    assert "working" in terminal.getvalue()


def test_nothing_is_shown_where_no_one_is_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    nothing: Any = None  # A session that is asked for anything would fail.
    with task_progress(nothing, "working"):
        pass
    assert pipe.getvalue() == ""


def test_classic_spark_is_asked_for_the_tasks_of_its_stages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = threading.Event()

    class Tracker:
        def getActiveStageIds(self) -> list[int]:  # noqa: N802 - PySpark's name
            return [1, 2, 3]

        def getStageInfo(self, stage: int) -> Any:  # noqa: N802 - PySpark's name
            if stage == 3:  # Gone since the list was made.
                asked.set()
                return None
            return SimpleNamespace(numTasks=4, numCompletedTasks=stage)

    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=Tracker))
    monkeypatch.setattr(progress, "_POLL_S", 0.001)
    with shown(monkeypatch) as states, task_progress(spark, "working"):
        assert asked.wait(10)
    assert set(states) <= {(3, 8)}
    assert not [thread for thread in threading.enumerate() if thread.name == "sapwood-progress"]


def test_connect_tells_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: list[Any] = []

    class Session:
        registerProgressHandler = staticmethod(handlers.append)  # noqa: N815 - PySpark's name
        removeProgressHandler = staticmethod(handlers.remove)  # noqa: N815 - PySpark's name

    Session.__module__ = "pyspark.sql.connect.session"
    spark: Any = Session()
    with shown(monkeypatch) as states, task_progress(spark, "working"):
        stage = SimpleNamespace(num_tasks=5, num_completed_tasks=2)
        handlers[0]([stage, stage], inflight_tasks=1, operation_id="x", done=False)
        handlers[0](None)
    assert states == [(4, 10)]
    assert handlers == []
