"""The progress of Spark, shown on a terminal while a job runs, and not shown elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

from sapwood.pipeline.spark.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.progress import Progress, TaskID

_POLL_S: Final = 0.2


@contextmanager
def task_progress(spark: SparkSession, description: str) -> Iterator[None]:
    """Show the tasks of the running stages on standard error, if that is a terminal.

    Spark's status is polled by a thread (classic), or comes with the answers (Connect).
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tasks"),
        TimeElapsedColumn(),
    )
    # Standard output is left alone: it may be a pipe for results.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(description, total=None)
        shown = (
            _by_handler(spark, bar, task) if is_connect(spark) else _by_polling(spark, bar, task)
        )
        with shown:
            yield


@contextmanager
def _by_polling(spark: SparkSession, bar: Progress, task: TaskID) -> Iterator[None]:
    """Poll the status tracker of classic Spark."""
    tracker = spark.sparkContext.statusTracker()
    over = Event()

    def follow() -> None:
        while not over.wait(_POLL_S):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            known = [stage for stage in stages if stage is not None]
            if known:
                done = sum(stage.numCompletedTasks for stage in known)
                bar.update(task, completed=done, total=sum(stage.numTasks for stage in known))

    thread = Thread(target=follow, name="sapwood-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _by_handler(spark: SparkSession, bar: Progress, task: TaskID) -> Iterator[None]:
    """Show the stages that Spark Connect reports to a handler."""

    def show(stages: Any, **_: Any) -> None:
        known = list(stages or ())
        if known:
            done = sum(stage.num_completed_tasks for stage in known)
            bar.update(task, completed=done, total=sum(stage.num_tasks for stage in known))

    spark.registerProgressHandler(show)
    try:
        yield
    finally:
        spark.removeProgressHandler(show)
