"""Which drawn subscriptions count: those that ask for something in particular.

Generators of patterns make a few that ask for next to nothing, such as `//*`; as soon as one is
there it covers nearly all others, and tables come down to one entry, which published ones never do.
"""

from __future__ import annotations

from typing import Final

from sapwood.model.documents.conditions import Below, descend
from sapwood.model.documents.pattern import TreePattern
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest

NAMES_MIN: Final = 2
"""Different elements that a pattern has to name."""


def is_particular(interest: Interest) -> bool:
    """Whether a tree pattern names enough elements; record filters always do."""
    if isinstance(interest, Filter):
        return True
    assert isinstance(interest, TreePattern)
    tests = {one.test for one in descend(interest.root) if isinstance(one, Below)}
    return len(tests - {None}) >= NAMES_MIN
