"""The time of comparing an edge after its link has failed: Shen 5.6, and the words for it.

While a link is down, its entries may be kept: then routers behind go on sending publications that
no router takes any more (*useless* ones), but nothing has to be withdrawn, and sent again, if the
link is back soon.

* `strawman`  drops the entries at once, and gets all of them again when the link is back
* `static`    waits for the timer that the edge has anyway
* `adaptive`  waits until useless publications have crossed more links than there are routers on
  this side, times a *threshold*; or until the link is back, and compares at once then. With an
  infinite threshold the entries are never dropped.

By the time that one withdrawal has gone everywhere on this side, it has crossed as many links as
that; so waiting has cost at most as much by then as not waiting would have. Against an optimum that
knows when the link will be back, this costs twice as much at most where it never is, and up to
three times where it is (Theorem 7 says twice; dossier 4.8 has the case that its proof leaves out).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sapwood.limits.healing import USELESS_THRESHOLD


@dataclass(frozen=True, slots=True)
class Timer:
    """The treatment of an edge's timer when its link fails.

    `keeps`: the entries of the link are kept for now. `threshold`: the number of useless hops that
    is accepted for each router on this side; `None` where they are not counted.
    """

    keeps: bool
    threshold: float | None = None


STRAWMAN: Final = Timer(keeps=False)
STATIC: Final = Timer(keeps=True)
ADAPTIVE: Final = Timer(keeps=True, threshold=USELESS_THRESHOLD)


@dataclass(slots=True)
class Outage:
    """A link that is down, as the router at one end has it.

    #: due_s is the time at which the link's entries are dropped; `None` where no time decides it
    """

    due_s: float | None
    is_kept: bool = True
    #: hops of publications that came here in vain
    useless: int = 0
