"""The links that are up, as all routers announce them, and the ways that they make."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sapwood.limits import MESH_ROUTERS_MAX
from sapwood.limits.recover import DETOUR_HOPS_MAX
from sapwood.routing.upkeep.detour.notes import Links, Numbered


class KnownLinks:
    """The last announcement of every router about its links that are up.

    A link counts when both its ends announce it. Its *sessions* are those of both announcements:
    they change whenever it was down in between, and then the messages on it may be lost.
    """

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said: dict[str, Links] = {}

    def __iter__(self) -> Iterator[Links]:
        """The last announcements of all routers."""
        return iter(self._said.values())

    def take(self, said: Links) -> bool:
        """Take in a router's announcement; true if it is new."""
        known = self._said.get(said.router)
        if known is not None and known.version >= said.version:
            return False
        if known is None and len(self._said) >= MESH_ROUTERS_MAX:
            return False
        self._said[said.router] = said
        return True

    def claims(self, router: str, neighbor: str) -> bool:
        """True if a router announces its link to another one."""
        said = self._said.get(router)
        return said is not None and neighbor in said.sessions

    def sessions(self, route: tuple[str, ...]) -> tuple[tuple[Numbered, Numbered], ...] | None:
        """The sessions of the links of a way; `None` where one of them is not up."""
        found: list[tuple[Numbered, Numbered]] = []
        for a, b in pairwise(route):
            if not (self.claims(a, b) and self.claims(b, a)):
                return None
            found.append((self._session(a, b), self._session(b, a)))
        return tuple(found)

    def route(self, start: str, end: str) -> tuple[str, ...] | None:
        """A shortest way within the bound of hops; `None` where there is none."""
        before: dict[str, str] = {start: start}
        edge = [start]
        for _ in range(DETOUR_HOPS_MAX):
            reached: list[str] = []
            for router in edge:
                said = self._said.get(router)
                for neighbor in () if said is None else sorted(said.sessions):
                    if neighbor not in before and self.claims(neighbor, router):
                        before[neighbor] = router
                        reached.append(neighbor)
            if end in before:
                way = [end]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return tuple(reversed(way))
            edge = reached
        return None

    def _session(self, router: str, neighbor: str) -> Numbered:
        said = self._said[router]
        return Numbered(said.version.life, said.sessions[neighbor])
