"""Filters as queries to a search engine, and events that match them (Jerzak, *XSiena*, 9.1.2).

The work takes queries from a published log of people's searches, and for each the number of hits
that another search engine gave. Neither is used here. Words have numbers, the most frequent first,
with Zipf's law. A topic is some words that go together, a user has a few topics, and most words of
a query are of one of them; so words occur together, and users have similar queries where they share
a topic.

A filter tests whether the attribute `query` contains a query. An event is made as in the work: each
filter's text is in it with a chance, which stands for the share of all pages that have it. It falls
with the rarest word of the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final, NamedTuple

import numpy as np

from sapwood.language import parse_filter
from sapwood.model.filter import Filter
from sapwood_lab.workload.records.draws import Ranks, ranks, zipf

ATTRIBUTE: Final = "query"
WORDS: Final = 20_000
TOPICS: Final = 300
TOPIC_WORDS: Final = 200
TOPICS_OF_USER: Final = 6
IN_TOPIC: Final = 0.7
"""The share of the words of a query that are of its topic."""
LENGTHS: Final = (0.2, 0.3, 0.25, 0.15, 0.1)
"""The chances that a query has 1, 2, ... words."""
SHARE_MAX: Final = 0.01
"""The share of all events that have the most frequent word."""


class Query(NamedTuple):
    """A query: its user, its text, and the chance that an event has it."""

    user: int
    text: str
    share: float

    @property
    def filter(self) -> Filter:
        """The filter to which its user subscribes."""
        return parse_filter(f"{ATTRIBUTE} like '%{self.text}%'")


@dataclass(frozen=True, slots=True)
class QueryLog:
    """A log of `users` users with `each` queries each; after the last the first goes on.

    With `users` 28 and `each` above 4,000 it is like set A of the work, of which unique queries
    count; with 11,276 and 10 like set B.
    """

    users: int
    each: int

    def queries(self, number: int, seed: int) -> list[Query]:
        """The first `number` different queries, in the order of their first occurrence."""
        found: dict[str, Query] = {}
        asked = self._asked(seed)
        while len(found) < number:
            one = next(asked)
            found.setdefault(one.text, one)
        return [*found.values()]

    def _asked(self, seed: int) -> Iterator[Query]:
        random = np.random.default_rng((seed, 0))
        words, places, topics = zipf(WORDS), zipf(TOPIC_WORDS), zipf(TOPICS)
        of_topic = [ranks(random, words, TOPIC_WORDS) for _ in range(TOPICS)]
        for turn in count():
            user = turn % self.users
            own = np.random.default_rng((seed, 1, user, turn // self.users))
            # A user has the same topics in all its queries.
            liked = ranks(np.random.default_rng((seed, 2, user)), topics, TOPICS_OF_USER)
            for _ in range(self.each):
                topic = of_topic[int(liked[own.integers(TOPICS_OF_USER)])]
                length = 1 + int(ranks(own, np.array(LENGTHS), 1)[0])
                near = topic[ranks(own, places, length)]
                far = ranks(own, words, length)
                yield _query(user, np.where(own.random(length) < IN_TOPIC, near, far))


def events(queries: list[Query], number: int, seed: int) -> Iterator[dict[str, str]]:
    """A draw of `number` records, each with the texts of the queries that are drawn for it."""
    random = np.random.default_rng((seed, 3))
    shares = np.array([one.share for one in queries])
    for _ in range(number):
        drawn = np.flatnonzero(random.random(len(shares)) < shares).tolist()
        yield {ATTRIBUTE: " ".join(queries[place].text for place in drawn)}


def _query(user: int, words: Ranks) -> Query:
    text = " ".join(f"w{word:05d}" for word in dict.fromkeys(words.tolist()))
    return Query(user, text, float(SHARE_MAX / np.sqrt(1 + words.max())))
