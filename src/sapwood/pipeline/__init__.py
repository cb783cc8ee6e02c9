"""Sapwood on Spark: the same filters over data larger than one machine.

Functions take and return DataFrames, and use nothing but the DataFrame API, so they work on a local
master, on a cluster and through Spark Connect. PySpark is imported when the first of them is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sapwood.pipeline.backfill import BackfillJob
    from sapwood.pipeline.compilation import CompileJob
    from sapwood.pipeline.delivering import match_into
    from sapwood.pipeline.following import FollowedSet
    from sapwood.pipeline.ingest import ingested
    from sapwood.pipeline.jobs import IngestJob, MatchJob
    from sapwood.pipeline.lake import Lake, open_lake
    from sapwood.pipeline.matching import PipelineWarning, match
    from sapwood.pipeline.publications import as_publications, rejected_publications
    from sapwood.pipeline.report_job import ReportJob
    from sapwood.pipeline.session import describe, local_session, open_session
    from sapwood.pipeline.sharding import Layout, match_sharded
    from sapwood.pipeline.stream import StreamJob
    from sapwood.pipeline.subscriptions import SubscriptionSet, compile_subscriptions
    from sapwood.pipeline.telling import Output
    from sapwood.pipeline.versions import CompiledSet

__all__ = (
    "BackfillJob",
    "CompileJob",
    "CompiledSet",
    "FollowedSet",
    "IngestJob",
    "Lake",
    "Layout",
    "MatchJob",
    "Output",
    "PipelineWarning",
    "ReportJob",
    "StreamJob",
    "SubscriptionSet",
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
    "rejected_publications",
)

_HOMES: Final = (
    ("BackfillJob", "backfill"),
    ("CompileJob", "compilation"),
    ("CompiledSet", "versions"),
    ("FollowedSet", "following"),
    ("IngestJob", "jobs"),
    ("Lake", "lake"),
    ("Layout", "sharding"),
    ("MatchJob", "jobs"),
    ("Output", "telling"),
    ("PipelineWarning", "matching"),
    ("ReportJob", "report_job"),
    ("StreamJob", "stream"),
    ("SubscriptionSet", "subscriptions"),
    ("as_publications", "publications"),
    ("compile_subscriptions", "subscriptions"),
    ("describe", "session"),
    ("ingested", "ingest"),
    ("local_session", "session"),
    ("match", "matching"),
    ("match_into", "delivering"),
    ("match_sharded", "sharding"),
    ("open_lake", "lake"),
    ("open_session", "session"),
    ("rejected_publications", "publications"),
)


def __getattr__(name: str) -> object:
    for public, home in _HOMES:
        if public == name:
            return getattr(import_module(f"{__name__}.{home}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted(__all__)
