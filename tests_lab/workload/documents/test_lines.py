"""Lines are what the commands read, and every home is one of those given."""

from __future__ import annotations

import pytest

from sapwood.errors import InvalidValueError
from sapwood.files.lines import decode_publication, decode_subscription
from sapwood_lab.workload.documents import documents, publication_lines, subscription_lines

HOMES = ("r0", "r1", "r2")


def test_lines_read_back_as_what_was_written() -> None:
    source = documents("news")
    subscriptions = list(source.subscriptions(30, 1))
    read = [decode_subscription(line) for line in subscription_lines(subscriptions, HOMES, 1)]
    assert [(one.id, one.filter) for one in read] == [(s.id, s.filter) for s in subscriptions]
    assert {one.home for one in read} == set(HOMES)
    publications = list(source.publications(30, 1))
    lines = [decode_publication(line) for line in publication_lines(publications, HOMES, 1)]
    assert [line.publication for line in lines] == publications
    assert {line.home for line in lines} == set(HOMES)


def test_lines_are_the_same_for_the_same_seed() -> None:
    subscriptions = list(documents("news").subscriptions(30, 1))
    first, again, other = (list(subscription_lines(subscriptions, HOMES, s)) for s in (1, 1, 2))
    assert first == again != other


def test_lines_need_a_home() -> None:
    with pytest.raises(InvalidValueError, match="at least one router"):
        list(publication_lines(documents("news").publications(1, 1), (), 1))
