"""The verdicts on a campaign: the due deliveries of each subscriber, and the actual ones.

Every subscription was in force before anything was published, and stayed until the end. So what was
accepted *must* arrive at a durable subscriber whose wish accepts it, what was only published *may*,
and all else *must not*. A subscriber that is not durable may miss what came while it was not
connected, which the campaign decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sapwood_lab.chaos.workload import Wish, number_of

EXAMPLES_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class Published:
    """The log of one publisher.

    Numbers below `accepted` are accepted, but for those that were `refused`; those below `tried`
    may be.
    """

    accepted: int
    tried: int
    refused: frozenset[int] = frozenset()

    def due(self, wish: Wish) -> list[int]:
        """The numbers that have to arrive at a subscriber with this wish."""
        numbers = range(self.accepted)
        return [one for one in numbers if wish.accepts(one) and one not in self.refused]


@dataclass(frozen=True, slots=True)
class Heard:
    """The log of one subscriber: the ids, in the order in which they came.

    `may_miss`: it is not durable, so what came while it was cut off is not owed to it.
    """

    wish: Wish
    ids: Sequence[str]
    may_miss: bool = False


@dataclass(slots=True)
class Verdict:
    """The number of deliveries of each kind, and some of them by name."""

    due: int = 0
    delivered: int = 0
    lost: int = 0
    missed: int = 0
    duplicated: int = 0
    unexpected: int = 0
    reordered: int = 0
    examples: list[str] = field(default_factory=list)
    """At most EXAMPLES_MAX."""

    @property
    def is_right(self) -> bool:
        """True if nothing is wrong; what may be missed is not."""
        return not (self.lost or self.duplicated or self.unexpected or self.reordered)

    def say(self, what: str) -> None:
        """Give an example, if there are not many."""
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(what)


def judge(published: Mapping[str, Published], heard: Mapping[str, Heard]) -> Verdict:
    """The verdict on all subscribers together."""
    verdict = Verdict()
    for name, one in sorted(heard.items()):
        _judge_what_came(verdict, name, one, published)
        _judge_what_did_not(verdict, name, one, published)
    return verdict


def _judge_what_came(
    verdict: Verdict, name: str, heard: Heard, published: Mapping[str, Published]
) -> None:
    seen: set[str] = set()
    latest: dict[str, int] = {}
    for id_ in heard.ids:
        publisher, number = number_of(id_)
        if publisher not in published or number >= published[publisher].tried:
            verdict.unexpected += 1
            verdict.say(f"{name}: {id_} was never published")
        elif not heard.wish.accepts(number):
            verdict.unexpected += 1
            verdict.say(f"{name}: {id_} does not match")
        elif id_ in seen:
            verdict.duplicated += 1
            verdict.say(f"{name}: {id_} came twice")
        else:
            if number < latest.get(publisher, -1):
                verdict.reordered += 1
                verdict.say(f"{name}: {id_} came after {publisher}-{latest[publisher]}")
            latest[publisher] = max(number, latest.get(publisher, -1))
            verdict.delivered += 1
        seen.add(id_)


def _judge_what_did_not(
    verdict: Verdict, name: str, heard: Heard, published: Mapping[str, Published]
) -> None:
    seen = set(heard.ids)
    for publisher, done in sorted(published.items()):
        due = done.due(heard.wish)
        missing = [f"{publisher}-{number}" for number in due]
        missing = [id_ for id_ in missing if id_ not in seen]
        verdict.due += len(due)
        if heard.may_miss:
            verdict.missed += len(missing)
            continue
        verdict.lost += len(missing)
        for id_ in missing[:3]:
            verdict.say(f"{name}: {id_} was lost")
