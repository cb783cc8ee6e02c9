"""A program that relays from broker to broker, to be killed.

Run by `python -m tests.pipeline.journals.relaying`.

Arguments: the checkpoint's folder, the broker to read, the broker to publish at, the master.
"""

from __future__ import annotations

import sys

from sapwood.pipeline.journals.source import FORMAT, register
from sapwood.pipeline.spark.session import local_session
from tests.sessions import QUICK_JVM

ROWS_PER_BATCH = 40


def main(checkpoint: str, source: str, sink: str, master: str) -> None:
    """Relay all that there is."""
    options = {
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.executor.extraJavaOptions": QUICK_JVM,
    }
    spark = local_session(master=master, options=options)
    register(spark)
    reader = spark.readStream.format(FORMAT).option("broker", source)
    rows = reader.option("maxRowsPerTrigger", str(ROWS_PER_BATCH)).load()
    writer = rows.select("id", "attributes").writeStream.format(FORMAT).option("broker", sink)
    query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
