"""The jobs that never end: `stream` and `backfill`, and the format `sapwood` of Spark."""
