"""The versions of compiled subscription sets: their folders, reports and readers.

::

    set/version=1/              each run that finds something new writes one, and touches no other
        entries/*.parquet          home, key, filter, subscriptions, stands_for
        members/*.parquet          id, home, key, entry
        segments/*.parquet         the index, as bytes
        index/segment-00000/       the same, to be mapped; where the set is on this machine
        report/*.json              what became of the subscriptions; written last

A version counts once its report is there. One job works on a set at a time; all may read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sapwood.errors import FileFormatError
from sapwood.matching.given_records import Matchable
from sapwood.matching.index import Index
from sapwood.pipeline.matching.segments import segment_home
from sapwood.pipeline.results.output import exists

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VERSION: Final = "version="
"""The name of a version's folder, before its number."""


@dataclass(frozen=True, slots=True)
class CompileReport:
    """The report on one version of a set: the counts of its subscriptions, by what became of each.

    `read` = `rejected` + `unsatisfiable` (nothing matches them) + `repeated` (equal to another one
    of their home) + `covered` (by another filter of their home) + `merged` + `entries`. `reasons`
    are the most frequent ones of rejections, with how many rows each. `digest` is equal for equal
    sets that are merged alike.
    """

    version: int
    digest: str
    read: int
    rejected: int
    unsatisfiable: int
    repeated: int
    covered: int
    entries: int
    homes: int
    segments: int
    #: the columns that at least one entry reads
    attributes: tuple[str, ...] = ()
    #: entries that read documents
    patterns: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    #: the number of distinct covered filters that read documents
    covered_patterns: int = 0
    #: the largest degree that a merger was allowed; `None` where nothing was to be merged
    budget: float | None = None
    #: the number of entries that merging has spared
    merged: int = 0
    #: entries that are mergers
    mergers: int = 0
    #: the largest degree of a merger
    degree: float = 0.0

    @property
    def good(self) -> int:
        """The subscriptions that could be used."""
        return self.read - self.rejected


def version_path(out: str, version: int) -> str:
    """The folder of one version of a set."""
    return f"{out.rstrip('/')}/{VERSION}{version}"


def latest_report(spark: SparkSession, out: str) -> CompileReport | None:
    """The report of the newest version of a set, if it has one.

    Raises `FileFormatError` for a path that is no set.
    """
    pattern = f"{out.rstrip('/')}/{VERSION}*/report"
    if not exists(spark, pattern):
        return None
    import msgspec

    texts = [row["value"] for row in spark.read.text(pattern).collect()]
    try:
        reports = [msgspec.json.decode(text, type=CompileReport) for text in texts]
    except ValueError as error:
        raise FileFormatError(out, f"holds a report that cannot be read: {error}") from None
    return max(reports, key=lambda report: report.version, default=None)


def write_report(spark: SparkSession, out: str, report: CompileReport) -> None:
    """Write the report, after which the version counts."""
    import msgspec
    from pyspark.sql import functions as F  # noqa: N812

    text = msgspec.json.encode(asdict(report)).decode()
    table = spark.range(0, 1, 1, 1).select(F.lit(text).alias("value"))
    table.write.mode("overwrite").text(f"{version_path(out, report.version)}/report")


class CompiledSet:
    """The index of one version: which homes a publication has to reach."""

    def __init__(self, segments: Iterable[Index]) -> None:
        self._segments = tuple(segments)

    @classmethod
    def load(cls, path: str | Path) -> CompiledSet:
        """The version in a folder (`.../version=3`), its arrays mapped into memory.

        Raises `FileFormatError` for a folder without an index.
        """
        folder = Path(path) / "index"
        if not folder.is_dir():
            raise FileFormatError(str(path), "is no version of a compiled set: it has no index")
        return cls(Index.load(segment) for segment in sorted(folder.iterdir()))

    def __len__(self) -> int:
        """The number of entries."""
        return sum(map(len, self._segments))

    def homes(self, publication: Matchable) -> list[str]:
        """The homes with an entry that accepts the publication, sorted."""
        found: set[Any] = set()
        for segment in self._segments:
            found.update(segment_home(entry) for entry in segment.match(publication))
        return sorted(found)
