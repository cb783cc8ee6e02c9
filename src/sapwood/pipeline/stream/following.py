"""A compiled set that grows new versions while a stream uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sapwood.errors import InputError
from sapwood.pipeline.matching.subscription_source import compiled_version
from sapwood.pipeline.matching.subscriptions import SubscriptionSet
from sapwood.pipeline.matching.versions import latest_report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Version(NamedTuple):
    """A version of a compiled set, ready for matching."""

    number: int
    compiled: SubscriptionSet


class FollowedSet:
    """The set at a path, at its newest version on each use."""

    def __init__(self, path: str) -> None:
        self._path = path
        #: the version that was loaded last, which nothing changes: versions are written once
        self._loaded: Version | None = None

    def newest(self, spark: SparkSession) -> Version:
        """The newest version; it is only loaded if it is not the one that was returned last.

        Raises `InputError` where there is no compiled set.
        """
        report = latest_report(spark, self._path)
        if report is None:
            raise InputError(f"{self._path} is no compiled set; make one with pipeline compile")
        if self._loaded is None or self._loaded.number != report.version:
            compiled = compiled_version(spark, self._path, report)
            self._loaded = Version(report.version, compiled)
        return self._loaded
