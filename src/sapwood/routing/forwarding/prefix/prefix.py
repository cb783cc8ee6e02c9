"""Prefix forwarding: the first router follows the routing tree, the next ones follow its steps.

XSiena 4 (V1). All routers place the subscriptions of their sides in the same tree, whose shape an
optimizer determines (`optimizer.py`) and whose versions travel as its subscriptions (`parts.py`).
The router where a publication enters walks down the tree with its record, and writes beside it the
nodes that it came to: the forwarding tree. Every other router looks up the sides with a filter at
these nodes, and never looks at content, except for clients' subscriptions that the tree has no
exact place for yet: one by one where they are few, else by the index.

Neighbors whose subscriptions are placed inexactly get more than they subscribe to, until the next
version; publications that came over a link and went nowhere are counted (`false_positives`). No
neighbor gets less: a router without the version of a digest, and one that could not place
everything yet, match by content and pass the digest on. Documents, and the parts of trees
themselves, are routed by content as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from sapwood.errors import InvariantError
from sapwood.limits import DIGEST_BYTES_MAX, KEYS_AT_ONCE
from sapwood.limits.prefix import DONE_IN_PLACE_MAX, WALK_STEPS_MAX
from sapwood.matching.engine_names import Engines
from sapwood.matching.publication_batch import take
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.publication import ManyValued, Publication
from sapwood.routing.forwarding.every_hop import EveryHop
from sapwood.routing.forwarding.prefix.digest import (
    HEAD_BYTES,
    WHOLE,
    Walks,
    head,
    is_whole,
    read,
    written,
)
from sapwood.routing.forwarding.prefix.parts import ATTRIBUTE
from sapwood.routing.forwarding.prefix.tags import Tags
from sapwood.routing.forwarding.prefix.trees import Trees
from sapwood.routing.forwarding.protocol import NO_DIGEST, Onward, Routed
from sapwood.routing.holders import Holders, KeyBatch
from sapwood.routing.tables import CLIENTS


class _Plan:
    """The destinations of a batch's publications; filled in place by place."""

    __slots__ = ("digests", "going", "own")

    def __init__(self, digests: Sequence[bytes], neighbors: Sequence[str]) -> None:
        self.digests: Final = [*digests]
        self.own: Final[list[Sequence[int]]] = [()] * len(digests)
        self.going: Final[dict[str, list[int]]] = {neighbor: [] for neighbor in neighbors}

    def routed(self, count: int, holders: Holders) -> tuple[KeyBatch, list[Onward]]:
        """The destinations of the first `count` publications."""
        keys = KeyBatch.of(self.own[:count], holders)
        keys = keys.first(keys.within(KEYS_AT_ONCE))
        onward = []
        for neighbor, places in self.going.items():
            some = sorted(place for place in places if place < len(keys))
            if some:
                onward.append(Onward(neighbor, some, [self.digests[place] for place in some]))
        return keys, onward


class Prefix:
    """Follows routing trees where it can, and content where it cannot.

    #: _content and _trees have exactly the subscriptions of the sides, the latter those of records
    """

    __slots__ = (
        "_content",
        "_depth",
        "_neighbors",
        "_trees",
        "digests_unread",
        "false_positives",
        "trees_followed",
        "trees_written",
        "versions_unknown",
    )

    def __init__(self, engines: Engines, depth: int = WHOLE) -> None:
        self._content = EveryHop(engines)
        self._trees = Trees()
        self._depth = depth
        self._neighbors: dict[str, None] = {}
        self.digests_unread = 0
        self.false_positives = 0
        self.trees_followed = 0
        self.trees_written = 0
        self.versions_unknown = 0

    @property
    def holders(self) -> Holders:
        """The keys of the clients' subscriptions by number."""
        return self._content.holders

    @property
    def has_left(self) -> bool:
        """True if filters of sides that were removed are in the index, or a tree is not ready."""
        return self._content.has_left or self._trees.has_left

    def clear(self, count: int) -> None:
        """Remove up to `count` of these filters, or advance the trees."""
        if self._content.has_left:
            self._content.clear(count)
        else:
            self._trees.advance()

    def add_side(self, side: str) -> None:
        """Add a neighbor, from which nothing has come."""
        self._content.add_side(side)
        self._trees.add_side(side)
        self._neighbors[side] = None

    def remove_side(self, side: str) -> None:
        """Remove a neighbor, with all its subscriptions."""
        self._content.remove_side(side)
        self._trees.remove_side(side)
        del self._neighbors[side]

    def learned(self, side: str, key: str, filter: Interest) -> None:
        """Add a subscription to a side."""
        self._content.learned(side, key, filter)
        if isinstance(filter, Filter):
            self._trees.learned(side, key, filter, is_one_of_many=False)

    def learned_many(self, side: str, entries: Sequence[tuple[str, Interest]]) -> None:
        """Add several subscriptions to a side together."""
        self._content.learned_many(side, entries)
        many = len(entries) > DONE_IN_PLACE_MAX
        for key, wanted in entries:
            if isinstance(wanted, Filter):
                self._trees.learned(side, key, wanted, is_one_of_many=many)

    def forgot(self, side: str, key: str) -> None:
        """Remove a subscription of a side."""
        self._content.forgot(side, key)
        self._trees.forgot(side, key)

    # Routing -----------------------------------------------------------------------------------

    def route(
        self,
        batch: Sequence[Publication],
        arrival: str | None,
        digests: Sequence[bytes],
        now: float,
    ) -> Routed:
        """Route each publication by its forwarding tree, or by its content."""
        if not len(self._trees) and not any(digests):
            return self._counted(self._content.route(batch, arrival, digests, now), arrival)
        self._trees.advance()
        neighbors = [one for one in self._neighbors if one != arrival]
        plan = _Plan(digests, neighbors)
        asked = self._followed(batch, plan)
        asked += self._walked(batch, plan, [at for at, came in enumerate(digests) if not came])
        count = len(batch)
        if asked:
            asked.sort()
            count = self._asked(batch, arrival, plan, asked, now)
        keys, onward = plan.routed(count, self.holders)
        return self._counted(Routed(keys, onward), arrival)

    def _followed(self, batch: Sequence[Publication], plan: _Plan) -> list[int]:
        """Follow the digests that came; returns the places of those that cannot be followed."""
        heads: dict[bytes, list[int]] = {}
        left: list[int] = []
        for place, digest in enumerate(plan.digests):
            if not digest:
                continue
            if is_whole(digest):
                heads.setdefault(digest[:HEAD_BYTES], []).append(place)
            else:
                self.digests_unread += 1
                left.append(place)
        for begins, places in heads.items():
            tags = self._trees.of(begins[2:])
            came = [plan.digests[at] for at in places]
            walks = None if tags is None else read(came, len(tags.snapshot))
            if tags is None:
                self.versions_unknown += len(places)
            elif walks is None:
                self.digests_unread += len(places)
            if tags is None or walks is None:
                left += places
            else:
                self.trees_followed += len(places)
                self._lead(batch, plan, tags, walks, places, depth=begins[1])
        return left

    def _walked(
        self, batch: Sequence[Publication], plan: _Plan, places: Sequence[int]
    ) -> list[int]:
        """Walk down the tree with records that came without a digest, and write where it led.

        Returns the places of the publications that the tree cannot route.
        """
        tags = self._trees.newest
        if tags is None:
            return [*places]
        left: list[int] = []
        walked: list[int] = []
        rows: list[list[int]] = []
        begins = head(tags.snapshot.version, self._depth)
        for place in places:
            publication = batch[place]
            nodes = self._walk(publication, tags)
            digest = NO_DIGEST if nodes is None else self._written(begins, nodes, tags)
            if nodes is None or len(digest) > DIGEST_BYTES_MAX:
                left.append(place)
                continue
            plan.digests[place] = digest
            walked.append(place)
            rows.append(nodes)
        if walked:
            self.trees_written += len(walked)
            self._lead(batch, plan, tags, Walks.of(rows), walked, depth=WHOLE)
        return left

    def _walk(self, publication: Publication, tags: Tags) -> list[int] | None:
        if publication.document is not None or publication.attributes is None:
            return None
        record = publication.record
        if type(record) is ManyValued:
            return None  # it may be below several nodes of one attribute
        return None if ATTRIBUTE in record else tags.snapshot.follow_some(record, WALK_STEPS_MAX)

    def _written(self, begins: bytes, nodes: Sequence[int], tags: Tags) -> bytes:
        """The digest of a forwarding tree, down to a depth, or without nodes that lead nowhere.

        Every router receives every filter, and all place it alike, so that a node at which no link
        has any filter here has none anywhere that was in force when the publication came.
        """
        if self._depth < WHOLE:
            depths = tags.snapshot.depths
            return written(begins, [node for node in nodes if depths[node] <= self._depth])
        found = np.array(nodes, np.int64)
        return written(begins, [0, *found[1:][tags.marks[found[1:]].any(axis=1)].tolist()])

    def _lead(
        self,
        batch: Sequence[Publication],
        plan: _Plan,
        tags: Tags,
        walks: Walks,
        places: Sequence[int],
        *,
        depth: int,
    ) -> None:
        """Enter the destinations of walks, down to a depth; content decides for inexact places."""
        found = tags.found(walks, depth)
        for neighbor, going in plan.going.items():
            going += [places[row] for row in tags.wanting(neighbor, found.links)]
        numbers = self.holders.numbers
        for row, keys in found.own.items():
            publication = batch[places[row]]
            wanting: Sequence[str]
            if keys is None:
                self._content.content_matches += 1
                wanting = self._content.matched(publication)
            else:
                wanting = [
                    key
                    for key, is_sure in keys.items()
                    if is_sure or self._accepts(key, publication)
                ]
            plan.own[places[row]] = [numbers[key] for key in wanting]

    def _accepts(self, key: str, publication: Publication) -> bool:
        return self._trees.filter(CLIENTS, key).matches(publication)

    def _asked(
        self,
        batch: Sequence[Publication],
        arrival: str | None,
        plan: _Plan,
        asked: Sequence[int],
        now: float,
    ) -> int:
        """Match publications by content; returns how many of the batch were routed."""
        some = [NO_DIGEST] * len(asked)
        found = self._content.route(take(batch, asked), arrival, some, now)
        count = len(batch) if len(found.keys) == len(asked) else asked[len(found.keys)]
        numbers = self.holders.numbers
        for at, keys in enumerate(found.keys):
            plan.own[asked[at]] = (
                found.keys.numbers(at)
                if isinstance(found.keys, KeyBatch)
                else [numbers[key] for key in keys]
            )
        for neighbor, places, _ in found.onward:
            plan.going[neighbor] += [asked[at] for at in places]
        return count

    def _counted(self, routed: Routed, arrival: str | None) -> Routed:
        """Count the publications that came over a link and go nowhere."""
        if arrival is not None:
            going = {place for onward in routed.onward for place in onward.places}
            sizes = (
                routed.keys.offsets[1:] > routed.keys.offsets[:-1]
                if isinstance(routed.keys, KeyBatch)
                else [bool(keys) for keys in routed.keys]
            )
            self.false_positives += sum(
                not is_own and place not in going for place, is_own in enumerate(sizes)
            )
        return routed

    def counters(self) -> dict[str, int]:
        """The counts of publications by the way of routing, and of those that came in vain."""
        return {
            **self._content.counters(),
            "trees_written": self.trees_written,
            "trees_followed": self.trees_followed,
            "versions_unknown": self.versions_unknown,
            "false_positives": self.false_positives,
        }

    def matched(self, publication: Publication) -> Sequence[str]:
        """The keys of the clients' subscriptions that accept a publication."""
        return self._content.matched(publication)

    def validate(self, sides: Mapping[str, Mapping[str, Interest]]) -> None:
        """Check the index and the trees against the subscriptions."""
        self._content.validate(sides)
        if [CLIENTS, *self._neighbors] != [*sides]:
            raise InvariantError("routing trees are kept of other links than those that are up")
        self._trees.validate(
            {
                side: {key: one for key, one in filters.items() if isinstance(one, Filter)}
                for side, filters in sides.items()
            }
        )
