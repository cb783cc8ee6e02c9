"""Finding a place in the hierarchy: the JOIN that goes down from peer to peer (algorithm 22).

Each peer that a JOIN reaches compares the newcomer's interest with its own, answers if it is
concerned, and sends the JOIN on to children. The probe ends when no copy is under way: in one
process that is plain to see, on a network each peer acknowledges after the peers below it (the work
is silent about it).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple, TypeVar

from sapwood.overlay.semantic.hierarchy.options import HierarchyOptions, Variant
from sapwood.overlay.semantic.hierarchy.state import NOBODY, ROOT, HierarchyState
from sapwood.overlay.semantic.interests import Coverable, Relation

F = TypeVar("F", bound=Coverable)


class Reply(NamedTuple):
    """A JOIN_REPLY: the answering peer, and its depth.

    `load` is its number of children where it contains the newcomer, that of its parent where the
    newcomer contains it, and 0 where both are equivalent.
    """

    peer: int
    depth: int
    load: int


@dataclass(slots=True)
class Probe:
    """The replies that a newcomer got, and their cost."""

    equivalent: list[Reply] = field(default_factory=list)
    containers: list[Reply] = field(default_factory=list)
    contained: list[Reply] = field(default_factory=list)
    #: peers that got the JOIN, each once
    reached: list[int] = field(default_factory=list)

    @property
    def messages(self) -> int:
        """All JOINs between peers, and all answers."""
        answers = len(self.equivalent) + len(self.containers) + len(self.contained)
        return len(self.reached) + answers

    def best(self) -> Reply | None:
        """The deepest container; among equally deep ones the one with the fewest children."""
        return min(self.containers, key=_preference, default=None)


def _preference(reply: Reply) -> tuple[int, int]:
    return -reply.depth, reply.load


def probe(
    state: HierarchyState[F],
    interest: int,
    variant: Variant,
    random: Random,
    start: int = ROOT,
) -> Probe:
    """Find the peers from `start` down that contain, equal or are contained in an interest.

    `start` is the root or a container of the interest. Of `random` one number is drawn, whatever
    the variant: so that variants can be compared.

    Departure from L2810: the virtual root's children are no load of any peer, and count as 0 for
    the adaptive join; otherwise most top-level peers would always probe in full.
    """
    seed = random.getrandbits(32)
    probing = _Probing(state, interest, _is_full(state.options, variant, seed), seed)
    if start == ROOT:
        probing.waiting = [(child, 1, 0) for child in state.children(ROOT)]
    else:
        probing.waiting = [(start, state.depth(start), 0)]
    return probing.run()


def _is_full(options: HierarchyOptions, variant: Variant, seed: int) -> Callable[[int, int], bool]:
    """A test whether a peer takes part in a full join, by its load and its parent's."""
    if variant is not Variant.ADAPTIVE:
        full = variant is Variant.FULL
        return lambda _load, _above: full
    limit, rate, draw = options.load, options.rate, Random(seed).random  # noqa: S311
    return lambda load, above: load > limit or above > limit or draw() < rate


_NUMBERS: Final = (int(Relation.PARALLEL), int(Relation.CONTAINS), int(Relation.CONTAINED))
"""As plain numbers: joins spend their time in the loop over the peers."""


@dataclass(slots=True)
class _Probing:
    """A probe under way."""

    state: HierarchyState[F]  # type: ignore[valid-type]
    interest: int
    is_full: Callable[[int, int], bool]
    seed: int
    #: JOINs under way: the receiver, its depth, and the number of children of the sender
    waiting: list[tuple[int, int, int]] = field(default_factory=list)

    def run(self) -> Probe:
        """Hand the JOIN on until no copy is left: a full join of 10,000 peers reaches thousands."""
        state, found, waiting = self.state, Probe(), self.waiting
        row, compare = state.interests.row(self.interest), state.interests.compare
        interests, count, equal_count = state.interest, state.count, state.equal_count
        first, after = state.first, state.next
        parallel, contains, contained = _NUMBERS
        for peer, depth, above in waiting:
            of = interests[peer]
            relation = row[of] or compare(of, self.interest)
            load = count[peer] + equal_count[peer]
            if relation == parallel:
                if first[peer] == NOBODY or not self.is_full(load, above):
                    continue
            elif relation == contains:
                found.containers.append(Reply(peer, depth, load))
            elif relation == contained:
                if self.is_full(load, above):
                    found.contained.append(Reply(peer, depth, above))
                continue
            else:
                found.equivalent.append(self.descend(peer, depth, found))
                continue
            # On to the children that are not equivalent; no peer moves meanwhile.
            child, below = first[peer], depth + 1
            while child != NOBODY:
                waiting.append((child, below, load))
                child = after[child]
        found.reached.extend([peer for peer, _, _ in waiting])
        return found

    def descend(self, peer: int, depth: int, found: Probe) -> Reply:
        """Go down an equivalence tree by chance until a peer has room: so it stays balanced."""
        state, options = self.state, self.state.options
        random = Random(self.seed)  # noqa: S311 - a choice, not a secret
        while True:
            tagged = state.tagged[peer]
            room = options.equivalent_children if tagged else options.root_children
            if state.equal_count[peer] < room:
                return Reply(peer, depth, 0)
            peer = random.choice(list(state.equal_children(peer)))
            found.reached.append(peer)
