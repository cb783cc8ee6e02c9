"""Summaries add up what was set aside."""

from __future__ import annotations

from sapwood.pipeline.tables.summaries import Counts, IngestSummary, MatchSummary


def test_rejected_of_a_match_is_that_of_both_inputs() -> None:
    summary = MatchSummary(Counts(5, 3, 2), Counts(7, 6, 1), 9, "out", "out.rejected")
    assert summary.rejected == 3


def test_rejected_of_an_ingest_is_that_of_its_lines() -> None:
    assert IngestSummary(Counts(5, 3, 2), (), "out", "out.rejected").rejected == 2
