"""The job `ingest`: files of unknown quality to a table of publications."""
