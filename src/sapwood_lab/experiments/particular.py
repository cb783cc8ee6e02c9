"""The drawn subscriptions that count: those for something in particular.

Generators of patterns make a few with next to no conditions, such as `//*`; as soon as one is
there it covers nearly all others, and tables come down to one entry, which published ones never do.
"""

from __future__ import annotations

import sys
from itertools import islice
from typing import Final

from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.patterns.conditions import Below, descend
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml.dtd import Dtd
from sapwood_lab.workload.documents import XPE, documents

NAMES_MIN: Final = 2
"""Different elements that a pattern has to name."""


def is_particular(interest: Interest) -> bool:
    """True if a tree pattern names enough elements; record filters always do."""
    if isinstance(interest, Filter):
        return True
    assert isinstance(interest, TreePattern)
    tests = {one.test for one in descend(interest.root) if isinstance(one, Below)}
    return len(tests - {None}) >= NAMES_MIN


def particular_patterns(dtd: Dtd, size: int, seed: int) -> list[TreePattern]:
    """The first `size` distinct XPEs over a DTD that are for something in particular."""
    stream = (one.filter for one in documents(dtd, XPE).subscriptions(sys.maxsize, seed))
    patterns = (one for one in stream if isinstance(one, TreePattern) and is_particular(one))
    return list(islice(patterns, size))
