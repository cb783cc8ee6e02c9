"""Covers among the tree patterns of one group, and the groups that a pattern belongs to.

A pattern that covers another one requires no element name that the other does not require: in a
document that the other accepts all further names could be changed. So a possible cover is stored in
the group of one *required* name (one that all its alternatives require), the rarest, and a pattern
queries the groups of all its required names. A pattern without any, such as `/*/*`, is general, and
is stored in all groups. A path prefix would be a narrower block, and would miss covers with `//`.
Within a group covers are searched by XSearch (XNet 6.3), which finds the covers that
`TreePattern.covers` finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from zlib import crc32

from sapwood.covering.batch.groups import COVERS, QUERIES, Member, last_covers, with_queries
from sapwood.covering.xsearch import XSearchIndex
from sapwood.language.forms import decode_pattern
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.patterns.twigs import Twig


def required_names(pattern: TreePattern) -> frozenset[str]:
    """Local names of elements that all accepted documents have, as far as alternatives show."""
    return frozenset.intersection(*map(_names, pattern.twigs)) if pattern.twigs else frozenset()


def name_frequencies(patterns: Iterable[TreePattern]) -> Mapping[str, int]:
    """The number of patterns that require each name."""
    return Counter(name for pattern in patterns for name in required_names(pattern))


def place_pattern(
    key: str, pattern: TreePattern, slots: int, frequencies: Mapping[str, int]
) -> dict[int, int]:
    """The groups, out of `slots`, that a pattern belongs to, and its role in each.

    `frequencies` are those of a sample, by which names are chosen; any others miss no cover either.
    A pattern that is compared with no other, as it has too many alternatives, belongs to none.
    """
    if not pattern.twigs:
        return {}
    names = required_names(pattern)
    # General covers are in all groups, so a pattern without names must query one.
    queried = {_slot(name, slots) for name in names} or {int(key[:8], 16) % slots}
    if names:
        rarest = min(names, key=lambda name: (frequencies.get(name, 0), name))
        roles = {_slot(rarest, slots): COVERS}
    else:
        roles = dict.fromkeys(range(slots), COVERS)
    return with_queries(roles, queried)


def covered_patterns(members: Sequence[Member]) -> list[tuple[str, str]]:
    """The pairs of `covers.covered`, for tree patterns."""
    patterns = [decode_pattern(member.form) for member in members]
    index = XSearchIndex()
    for number, member in enumerate(members):
        if member.role & COVERS:
            index.add(number, patterns[number])
    cover: dict[int, int] = {}
    for number, member in enumerate(members):
        if not member.role & QUERIES:
            continue
        for other in sorted(index.covering(patterns[number]) - {number}):
            # Of two patterns that cover each other the one with the smaller key is kept.
            if other < number or not patterns[number].covers(patterns[other]):
                cover[number] = other
                break
    keys = [member.key for member in members]
    return [(keys[number], keys[last]) for number, last in last_covers(cover, keys)]


def _names(twig: Twig) -> frozenset[str]:
    return frozenset(one.test.local for one in (twig, *twig.descend()) if one.test is not None)


def _slot(name: str, slots: int) -> int:
    return crc32(name.encode(errors="surrogatepass")) % slots
