"""Knowledge of the documents: a DTD, a synopsis, or both (8.2, L2951-2953; 8.3, L3098-3104).

A *place* is where an element can be: a name, and, with a synopsis, a node of it. Knowledge gives
the places below one, and how often they occur beside each other (their weights): with a DTD alone
all children are alike, with a synopsis each weighs as many documents as have it. With both, a path
that no document had is impossible (L3102) unless the synopsis is too young for that conclusion;
then each child of the DTD weighs one document more than had it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sapwood.errors import InputError
from sapwood.similarity.opposition import Opposition
from sapwood.similarity.synopsis import ATTRIBUTE_MARK, Synopsis
from sapwood.xml.document import local_name
from sapwood.xml.dtd import Dtd, ElementType, Presence


@dataclass(frozen=True, slots=True)
class Place:
    """An element or attribute of this name, `depth` levels below the document.

    `node` is the synopsis's, if there is one that has it. The document itself has no name.
    """

    name: str = ""
    depth: int = 0
    node: int | None = None

    @property
    def is_attribute(self) -> bool:
        """True if this is the place of an attribute."""
        return self.name.startswith(ATTRIBUTE_MARK)


Weighed = tuple[tuple[Place, int], ...]
"""Places with their weights, which are above zero."""


class Knowledge:
    """A DTD, a synopsis, or both; raises `InputError` without any.

    With both, `unseen_is_impossible` is true if the synopsis has enough documents to exclude what
    none of them has.
    """

    __slots__ = (
        *("_attributes", "_below", "_declared", "_elements", "_opposition", "_reachable"),
        *("dtd", "synopsis", "unseen_is_impossible"),
    )

    def __init__(
        self,
        dtd: Dtd | None = None,
        synopsis: Synopsis | None = None,
        *,
        unseen_is_impossible: bool = True,
    ) -> None:
        if dtd is None and synopsis is None:
            raise InputError("without a DTD and a synopsis nothing can be estimated; bring one")
        if dtd is None and not unseen_is_impossible:
            raise InputError("only a DTD says what else can come; bring one beside the synopsis")
        self.dtd = dtd
        self.synopsis = synopsis
        self.unseen_is_impossible = unseen_is_impossible
        self._declared: dict[str, ElementType] = {}
        self._opposition: Opposition | None = None
        if dtd is not None:
            self._declared = {one.name: one for one in dtd.elements}
            self._opposition = Opposition(dtd)
        self._elements: dict[Place, Weighed] = {}
        self._attributes: dict[Place, Weighed] = {}
        #: names below each node of the synopsis, and below each element of the DTD
        self._below: dict[int, frozenset[str]] = {}
        self._reachable: dict[str, frozenset[str]] = {}

    @property
    def root(self) -> Place:
        """The document."""
        return Place(node=None if self.synopsis is None else 0)

    def elements(self, place: Place) -> Weighed:
        """The places of elements below one, weighed; in the order of the DTD, or the synopsis."""
        found = self._elements.get(place)
        if found is None:
            found = self._elements[place] = self._weighed(place, self._allowed(place), "")
        return found

    def attributes(self, place: Place) -> Weighed:
        """The places of attributes of an element, weighed."""
        found = self._attributes.get(place)
        if found is None:
            names: tuple[str, ...] | None = None
            if self.dtd is not None:
                declared = self._declared.get(local_name(place.name))
                every = declared.attributes if declared else ()
                # A DTD has no more of an attribute's namespace than a prefix.
                names = tuple(ATTRIBUTE_MARK + one.name.rpartition(":")[2] for one in every)
            found = self._attributes[place] = self._weighed(place, names, ATTRIBUTE_MARK)
        return found

    def count(self, place: Place) -> int | None:
        """The documents that have this place; `None` where no synopsis counts them."""
        if self.synopsis is None or place.node is None:
            return None
        return self.synopsis.counts[place.node]

    def is_required(self, above: Place, attribute: Place) -> bool:
        """True if the DTD requires the attribute of each such element."""
        declared = self._declared.get(local_name(above.name))
        return declared is not None and any(
            f"{ATTRIBUTE_MARK}{one.name}" == attribute.name and one.presence is Presence.REQUIRED
            for one in declared.attributes
        )

    def opposed(self, above: Place, one: Place, other: Place) -> bool:
        """True if no valid element at `above` has both; never without a DTD."""
        if self._opposition is None or one.is_attribute or other.is_attribute or not above.depth:
            return False
        names = (local_name(place.name) for place in (above, one, other))
        return self._opposition.opposed(*names)

    def holds_text(self, place: Place) -> bool:
        """True if text may stand in an element here."""
        declared = self._declared.get(local_name(place.name))
        return declared is None or declared.holds_text

    def reaches(self, place: Place, name: str) -> bool:
        """True if an element of this local name may be below a place, however far."""
        if self.synopsis is not None and self.unseen_is_impossible:
            return place.node is not None and name in self._names_below(place.node)
        return any(
            child == name or name in self._names_under(child)
            for child in self._allowed(place) or ()
        )

    def _allowed(self, place: Place) -> tuple[str, ...] | None:
        """The names of elements that the DTD allows there; `None` without one."""
        if self.dtd is None:
            return None
        if not place.depth:
            return (self.dtd.root,)
        return self.dtd.paths.children(local_name(place.name))

    def _weighed(self, place: Place, names: tuple[str, ...] | None, mark: str) -> Weighed:
        depth = place.depth + 1
        if self.synopsis is None:
            return tuple((Place(name, depth), 1) for name in names or ())
        synopsis = self.synopsis
        seen = [
            Place(synopsis.names[node], depth, node)
            for node in (() if place.node is None else synopsis.children(place.node))
            if synopsis.names[node].startswith(ATTRIBUTE_MARK) == bool(mark)
        ]
        if names is not None:
            allowed = frozenset(names)
            seen = [one for one in seen if _bare(one.name) in allowed]
        more = 0 if self.unseen_is_impossible else 1
        weighed = [(one, synopsis.counts[one.node or 0] + more) for one in seen]
        if more:
            had = {_bare(one.name) for one in seen}
            weighed += [(Place(name, depth), more) for name in names or () if name not in had]
        return tuple(weighed)

    def _names_below(self, node: int) -> frozenset[str]:
        """The local names of elements below a node of the synopsis."""
        found = self._below.get(node)
        if found is None:
            assert self.synopsis is not None, "places have nodes of a synopsis"
            names: set[str] = set()
            for child in self.synopsis.children(node):
                name = self.synopsis.names[child]
                if not name.startswith(ATTRIBUTE_MARK):
                    names |= {local_name(name), *self._names_below(child)}
            found = self._below[node] = frozenset(names)
        return found

    def _names_under(self, element: str) -> frozenset[str]:
        """The names of elements that the DTD allows below one, at any depth."""
        found = self._reachable.get(element)
        if found is None:
            assert self.dtd is not None, "only a DTD has elements without documents"
            names: set[str] = set()
            waiting = list(self.dtd.paths.children(element))
            while waiting:
                name = waiting.pop()
                if name not in names:
                    names.add(name)
                    waiting.extend(self.dtd.paths.children(name))
            found = self._reachable[element] = frozenset(names)
        return found


def _bare(name: str) -> str:
    """A name as DTDs have it: without its namespace, with the mark of an attribute."""
    if name.startswith(ATTRIBUTE_MARK):
        return f"{ATTRIBUTE_MARK}{local_name(name[1:])}"
    return local_name(name)
