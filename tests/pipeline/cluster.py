"""A program for spark-submit that runs commands in one session: `cluster.py COMMANDS`.

COMMANDS is a JSON list of argument lists for `sapwood pipeline`. Standard output gets `STATUS n`
for each, and in the end a line `PLACE folder file` for each executor: where it works, and where its
package is. (It gets more: spark-submit mixes the two outputs of a program.)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from sapwood.pipeline import job


def main() -> None:
    """Run all commands, one after the other."""
    spark = SparkSession.builder.getOrCreate()
    for command in json.loads(sys.argv[1]):
        try:
            job.main(command)
        except SystemExit as ended:
            print("STATUS", ended.code, flush=True)  # noqa: T201 - the test reads it

    def tell(batches: Iterator[Any]) -> Iterator[Any]:
        import os

        import pyarrow as pa

        import sapwood

        for batch in batches:
            told = f"{os.getcwd()} {sapwood.__file__}"
            yield pa.RecordBatch.from_pydict({"told": [told] * batch.num_rows})

    for row in spark.range(40).repartition(8).mapInArrow(tell, "told STRING").distinct().collect():
        print("PLACE", row["told"], flush=True)  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main()
