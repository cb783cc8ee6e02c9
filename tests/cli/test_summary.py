"""The summary of a run over files: the matches, and the input that could not be used."""

from __future__ import annotations

from sapwood.cli.summary import Summary
from sapwood.files import Counts

GOOD = Summary(Counts(2, 2), Counts(1000, 1000), 3, "aside")
BAD = Summary(Counts(2, 1, 1), Counts(5, 3, 2), 1, "aside")


def test_a_summary_counts_what_was_matched() -> None:
    assert GOOD.text() == "1,000 publications matched against 2 subscriptions: 3 deliveries"
    assert GOOD.rejected == 0
    assert GOOD.members()["rejected_file"] is None


def test_a_summary_says_what_could_not_be_used_and_where_it_is() -> None:
    assert BAD.rejected == 3
    assert BAD.text().splitlines() == [
        "3 publications matched against 1 subscription: 1 delivery",
        "3 lines rejected (1 of the subscriptions, 2 of the publications): see aside",
    ]
    assert BAD.members() == {
        "subscriptions": {"read": 2, "good": 1, "rejected": 1},
        "publications": {"read": 5, "good": 3, "rejected": 2},
        "deliveries": 1,
        "rejected_file": "aside",
    }
