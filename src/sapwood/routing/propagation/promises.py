"""Which advertisements a neighbor is told of: the maximal ones, and of equal ones one.

XSiena 2.6 routes advertisements as covering routes subscriptions (2.41, 2.42): on each link those
travel that no other one covers. Of its five steps of unadvertising (2.47 to 2.50) the first three
are `Covering` on the advertisements of a link, the other two `Advertised` on its subscriptions:

1. the neighbor is told that the advertisement is gone, if it had been told of it (2.47);
2. those that were held back because of it are told of, as far as nothing else covers them (2.48):
   before the first step and not behind it, so that no subscription is withdrawn between them and
   comes again;
3. it is forgotten, which follows from either;
4. what nothing from there intersects any more is wanted there no more (2.49), and
5. is withdrawn (2.50).

A newcomer that covers what was told takes its place, likewise told first (`maximal`). The work
drops an advertisement that another one from the same side covers (2.42). Here it is a candidate
and held back: who else knows of it that would state it again, where a client has both?

Where subscriptions are merged, so are filters of records that are advertised, as far as nothing is
added: what a merger intersects one of its members does. What is merged travels as one.

Nothing is lost by what is held back: what intersects it intersects what covers it, so subscriptions
travel as if it had been told. Why a confirmation means for it what it means for the other is argued
in `routing/answering.py`.
"""

from __future__ import annotations

from sapwood.covering.advertised import AdvertisedIndex
from sapwood.covering.flat import FlatGraph
from sapwood.covering.manager import CoveringManager
from sapwood.covering.merging.records import PerfectRecordMerger
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.routing.propagation.covering import Covering
from sapwood.routing.propagation.merging import MergedLinks, Merging


def maximal_promises() -> Covering[AdvertisedContent]:
    """The state of a link that is told of the maximal advertisements, and of nothing yet."""
    return Covering(CoveringManager(FlatGraph(), AdvertisedIndex(), is_maximal=True))


class MergedPromises(MergedLinks[AdvertisedContent]):
    """Makes the states of a core's links where advertisements are merged, of whose identity."""

    __slots__ = ()

    def __init__(self, identity: str) -> None:
        super().__init__(maximal_promises, PerfectRecordMerger(), f"{identity}.a")

    def __call__(self) -> MergingPromises:
        """That of one more link."""
        return MergingPromises(*self._parts())


class MergingPromises(Merging[AdvertisedContent]):
    """The state of a link that is told of mergers in the place of advertisements."""

    __slots__ = ()
