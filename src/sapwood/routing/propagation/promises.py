"""The advertisements that are propagated to a neighbor: the maximal ones, one of equal ones.

XSiena 2.6 routes advertisements as covering routes subscriptions (2.41, 2.42): on each link those
travel that no other one covers. Of its five steps of unadvertising (2.47 to 2.50) the first three
are `Covering` on the advertisements of a link, the other two `Advertised` on its subscriptions:

1. the advertisement is withdrawn from the neighbor, if it had been propagated (2.47);
2. those that were held back because of it are propagated, as far as nothing else covers them
   (2.48): before the first step and not behind it, so that no subscription is withdrawn between
   them and comes again;
3. it is forgotten, which follows from either;
4. a subscription that no advertisement from there intersects any more is wanted there no more
   (2.49), and
5. is withdrawn (2.50).

A newcomer that covers propagated advertisements takes their place, likewise propagated first
(`maximal`). The work drops an advertisement that another one from the same side covers (2.42). Here
it is a candidate and held back: where one client has both, no other router could send it again.

Where subscriptions are merged, so are advertised filters of records, as far as nothing is added: if
the merger intersects a subscription, so does one of its members. Merged ones travel as one.

Nothing is lost by holding one back: what intersects it intersects its cover, so subscriptions
travel as if it had been propagated. Why a confirmation of the cover serves for it as well is argued
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
    """The state of a link that propagates the maximal advertisements; empty at first."""
    return Covering(CoveringManager(FlatGraph(), AdvertisedIndex(), is_maximal=True))


class MergedPromises(MergedLinks[AdvertisedContent]):
    """Makes the states of a core's links where advertisements are merged, given its identity."""

    __slots__ = ()

    def __init__(self, identity: str) -> None:
        super().__init__(maximal_promises, PerfectRecordMerger(), f"{identity}.a")

    def __call__(self) -> MergingPromises:
        """Make the state of one more link."""
        return MergingPromises(*self._parts())


class MergingPromises(Merging[AdvertisedContent]):
    """The state of a link that propagates mergers in the place of advertisements."""

    __slots__ = ()
