"""A program that runs a stream and can be killed.

Run by `python -m tests.pipeline.stream.streaming FOLDER`.

The folder holds `subscriptions.jsonl` and `in/`. Each batch that is done is a line on standard
output. With `--stop-in-batch N` the process kills itself, as a machine that fails would, after the
deliveries of batch N are written and before Spark has noted that the batch is done.
"""

from __future__ import annotations

import argparse
import os
import signal
from dataclasses import replace
from pathlib import Path

from sapwood.pipeline.matching.subscription_source import compile_path
from sapwood.pipeline.spark.session import local_session
from sapwood.pipeline.stream.stream import StreamJob
from sapwood.pipeline.tables.decoding import JSONDecoder
from sapwood.pipeline.tables.summaries import BatchSummary
from tests.sessions import QUICK_JVM


def main() -> None:
    """Run the stream until all files are done."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stop-in-batch", type=int)
    arguments = parser.parse_args()
    folder: Path = arguments.folder

    def told(batch: BatchSummary) -> None:
        print(batch.batch, batch.deliveries, flush=True)  # noqa: T201 - the test reads it
        if batch.batch == arguments.stop_in_batch:
            os.killpg(os.getpgid(0), signal.SIGKILL)

    spark = local_session(driver_memory="1g", options={"spark.driver.extraJavaOptions": QUICK_JVM})
    job = StreamJob(
        source=str(folder / "in"),
        out=str(folder / "out"),
        decoder=JSONDecoder(None),
        compiled=compile_path(spark, str(folder / "subscriptions.jsonl"), engine="counting"),
        files_per_batch=1,
    )
    query = replace(job, on_batch=told).start(spark)
    query.awaitTermination()


if __name__ == "__main__":
    main()
