"""Sapwood on Spark: the same filters over data larger than one machine.

Functions take and return DataFrames, and use nothing but the DataFrame API, so they work on a local
master, on a cluster and through Spark Connect. PySpark is imported when the first of them is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sapwood.pipeline.compile.job import CompileJob
    from sapwood.pipeline.ingest.job import IngestJob
    from sapwood.pipeline.ingest.lines import ingested
    from sapwood.pipeline.matching.delivering import match_into
    from sapwood.pipeline.matching.job import MatchJob
    from sapwood.pipeline.matching.match import PipelineWarning, match
    from sapwood.pipeline.matching.output import Output
    from sapwood.pipeline.matching.sharding import Layout, match_sharded
    from sapwood.pipeline.matching.subscriptions import SubscriptionSet, compile_subscriptions
    from sapwood.pipeline.matching.versions import CompiledSet
    from sapwood.pipeline.report.job import ReportJob
    from sapwood.pipeline.similarity.job import SimilarityJob
    from sapwood.pipeline.similarity.workers import Known, read_known
    from sapwood.pipeline.spark.session import describe, local_session, open_session
    from sapwood.pipeline.stream.backfill import BackfillJob
    from sapwood.pipeline.stream.following import FollowedSet
    from sapwood.pipeline.stream.stream import StreamJob
    from sapwood.pipeline.synopsis.job import SynopsisJob
    from sapwood.pipeline.tables.lake import Lake, open_lake
    from sapwood.pipeline.tables.publications import as_publications, rejected_publications

__all__ = (
    "BackfillJob",
    "CompileJob",
    "CompiledSet",
    "FollowedSet",
    "IngestJob",
    "Known",
    "Lake",
    "Layout",
    "MatchJob",
    "Output",
    "PipelineWarning",
    "ReportJob",
    "SimilarityJob",
    "StreamJob",
    "SubscriptionSet",
    "SynopsisJob",
    "as_publications",
    "compile_subscriptions",
    "describe",
    "ingested",
    "local_session",
    "match",
    "match_into",
    "match_sharded",
    "open_lake",
    "open_session",
    "read_known",
    "rejected_publications",
)

_HOMES: Final = (
    ("BackfillJob", "stream.backfill"),
    ("CompileJob", "compile.job"),
    ("CompiledSet", "matching.versions"),
    ("FollowedSet", "stream.following"),
    ("IngestJob", "ingest.job"),
    ("Known", "similarity.workers"),
    ("Lake", "tables.lake"),
    ("Layout", "matching.sharding"),
    ("MatchJob", "matching.job"),
    ("Output", "matching.output"),
    ("PipelineWarning", "matching.match"),
    ("ReportJob", "report.job"),
    ("SimilarityJob", "similarity.job"),
    ("StreamJob", "stream.stream"),
    ("SubscriptionSet", "matching.subscriptions"),
    ("SynopsisJob", "synopsis.job"),
    ("as_publications", "tables.publications"),
    ("compile_subscriptions", "matching.subscriptions"),
    ("describe", "spark.session"),
    ("ingested", "ingest.lines"),
    ("local_session", "spark.session"),
    ("match", "matching.match"),
    ("match_into", "matching.delivering"),
    ("match_sharded", "matching.sharding"),
    ("open_lake", "tables.lake"),
    ("open_session", "spark.session"),
    ("read_known", "similarity.workers"),
    ("rejected_publications", "tables.publications"),
)


def __getattr__(name: str) -> object:
    for public, home in _HOMES:
        if public == name:
            return getattr(import_module(f"{__name__}.{home}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted(__all__)
