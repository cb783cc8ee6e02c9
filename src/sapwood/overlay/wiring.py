"""An overlay that changes often: each change costs no more than itself, however many routers.

Where routers request their links themselves, an overlay of 1,000 routers has thousands of changes,
and a copy of all links for each would be gigabytes. Here, the latest overlay alone has tables; a
change hands them on to the next, and earlier overlays have a place in a log of changes, from which
their tables are made again on use.

Worked example: `a-b` with the log (), `Wiring` number 0. Adding the router `c` gives number 1,
which has the tables now, and the log is (`c`,). Adding the link `b-c` gives number 2, and the log
(`c`, `b-c`). What are the neighbors of `b` in number 1? That carries out the first change on a copy
of `a-b`: they are (`a`,).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sapwood.errors import InputError, LimitError
from sapwood.limits import OVERLAY_ROUTERS_MAX
from sapwood.overlay.spanning import fewest_links
from sapwood.overlay.topology import Link, Overlay, Topology, check_routers


@dataclass(frozen=True, slots=True)
class _Change:
    """A change: a router (with all of its links), or a link, that came or went."""

    what: str | Link
    comes: bool


class _Tables:
    """Routers and links, in order; link by both its ends."""

    __slots__ = ("around", "links")

    def __init__(self, routers: Sequence[str], links: Sequence[Link]) -> None:
        self.around: dict[str, dict[str, Link]] = {name: {} for name in routers}
        #: each link once, in the order in which they came
        self.links: dict[Link, None] = {}
        for link in links:
            self._add(link)

    def carry_out(self, change: _Change) -> None:
        """Be the tables after a change."""
        match change:
            case _Change(Link() as link, True):
                self._add(link)
            case _Change(Link() as link, _):
                self._remove(link)
            case _Change(str() as router, True):
                self.around[router] = {}
            case _Change(str() as router, _):
                for link in tuple(self.around[router].values()):
                    self._remove(link)
                del self.around[router]

    def _add(self, link: Link) -> None:
        self.links[link] = None
        self.around[link.a][link.b] = link
        self.around[link.b][link.a] = link

    def _remove(self, link: Link) -> None:
        del self.links[link]
        del self.around[link.a][link.b]
        del self.around[link.b][link.a]


class _Log:
    """The changes that an overlay has gone through, all those of one line of them."""

    __slots__ = ("changes", "first")

    def __init__(self, first: Overlay) -> None:
        self.first = first
        self.changes: list[_Change] = []

    def tables(self, number: int) -> _Tables:
        """The tables of the overlay after `number` changes."""
        made = _Tables(self.first.routers, self.first.links)
        for change in self.changes[:number]:
            made.carry_out(change)
        return made


class Wiring(Overlay):
    """An overlay in a sequence of overlays; it never changes.

    It may be in parts. Its links need only be at most one between two routers.

    #: _made is there in the latest of a log, in others once it was used
    """

    __slots__ = ("_log", "_made", "_number", "_trees")

    def __init__(self, overlay: Overlay) -> None:
        self._be(_Log(overlay), 0, None)

    def _be(self, log: _Log, number: int, made: _Tables | None) -> None:
        self._log = log
        self._number = number
        self._made = made
        #: router -> its tree, for those computed so far
        self._trees: dict[str, Topology] = {}

    @property
    def _tables(self) -> _Tables:
        if self._made is None:
            self._made = self._log.tables(self._number)
        return self._made

    @property
    def _around(self) -> Mapping[str, Mapping[str, Link]]:  # type: ignore[override]
        return self._tables.around

    @property
    def routers(self) -> tuple[str, ...]:  # type: ignore[override]
        """All routers, in the order in which they came."""
        return tuple(self._tables.around)

    @property
    def links(self) -> tuple[Link, ...]:  # type: ignore[override]
        """All links, in the order in which they came."""
        return tuple(self._tables.links)

    @property
    def news(self) -> tuple[tuple[str, ...], tuple[Link, ...]]:
        """The routers and links that the last change added."""
        if not self._number:
            return self.routers, self.links
        match self._log.changes[self._number - 1]:
            case _Change(Link() as link, True):
                return (), (link,)
            case _Change(str() as router, True):
                return (router,), ()
        return (), ()

    @property
    def is_tree(self) -> bool:
        """True if there is at most one way between any two routers."""
        parts, seen = 0, set[str]()
        for router in self._around:
            if router not in seen:
                parts += 1
                seen.update(self.joined(router))
        return len(self._tables.links) == len(self._around) - parts

    def tree(self, source: str) -> Topology:
        """The tree with the fewest links between a router and each of its part."""
        found = self._trees.get(self.known(source))
        if found is None:
            joined = set(self.joined(source))
            around = {router: self.neighbors(router) for router in joined}
            pairs = fewest_links(source, around).links()
            chosen = {self._around[parent][child] for parent, child in pairs}
            found = self._trees[source] = Topology(
                tuple(router for router in self._around if router in joined),
                tuple(link for link in self._tables.links if link in chosen),
            )
        return found

    # Changes -----------------------------------------------------------------------------------

    def with_router(self, router: str) -> Wiring:
        """The overlay with one more router, which has no link."""
        check_routers((router, *((router,) if router in self else ())))
        if len(self._around) == OVERLAY_ROUTERS_MAX:
            count = OVERLAY_ROUTERS_MAX + 1
            what = "the number of routers"
            raise LimitError("OVERLAY_ROUTERS_MAX", OVERLAY_ROUTERS_MAX, count, what)
        return self._changed(_Change(router, comes=True))

    def without_router(self, router: str) -> Wiring:
        """The overlay without a router and its links."""
        return self._changed(_Change(self.known(router), comes=False))

    def with_link(self, link: Link) -> Wiring:
        """The overlay with one more link; `InputError` where its ends are linked already."""
        if self.known(link.b) in self._around[self.known(link.a)]:
            raise InputError(f"{link.a!r} and {link.b!r} are linked already")
        return self._changed(_Change(link, comes=True))

    def without_link(self, a: str, b: str) -> Wiring:
        """The overlay without the link between two routers."""
        return self._changed(_Change(self.link(a, b), comes=False))

    def _changed(self, change: _Change) -> Wiring:
        """The overlay after one more change, with the tables that this one had."""
        if self._number < len(self._log.changes):  # another one follows this one already
            return Wiring(self)._changed(change)
        tables = self._tables
        self._made = None
        self._log.changes.append(change)
        tables.carry_out(change)
        following = Wiring.__new__(Wiring)
        following._be(self._log, self._number + 1, tables)
        return following
