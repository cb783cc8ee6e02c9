"""The summaries of jobs, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of the rows or lines of one input: `read == good + rejected`."""

    read: int
    good: int
    rejected: int


@dataclass(frozen=True, slots=True)
class MatchSummary:
    """The summary of a match job. `aside` is the folder of rejected rows, if there are any.

    `deliveries` counts pairs (of publication and home where the output is homes), whatever the form
    of the output. `layout` is how publications and subscriptions came together.
    """

    subscriptions: Counts
    publications: Counts
    deliveries: int
    out: str
    aside: str
    layout: str = "broadcast"
    output: str = "pairs"

    @property
    def rejected(self) -> int:
        """Rows and lines of both inputs that could not be used."""
        return self.subscriptions.rejected + self.publications.rejected


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """The summary of an ingest job. `undeclared` names some attributes that were not carried."""

    publications: Counts
    undeclared: tuple[str, ...]
    out: str
    aside: str

    @property
    def rejected(self) -> int:
        """Lines that could not be used."""
        return self.publications.rejected


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """The summary of one batch of a stream; `version` is that of the compiled set, if it is one."""

    batch: int
    publications: Counts
    deliveries: int
    version: int | None = None
