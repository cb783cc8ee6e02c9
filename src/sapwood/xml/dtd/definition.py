"""A document type definition, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sapwood.errors import InputError, UnknownNameError
from sapwood.xml.dtd.content import ElementType, least_heights
from sapwood.xml.dtd.paths import Paths, allowed_paths


@dataclass(frozen=True, slots=True)
class Dtd:
    """The element types of one kind of document, and the name of the root.

    `paths` are the root-to-leaf paths of its documents; `heights` the levels that an element of a
    type has at least (1: it may end), for exactly the types of which there are valid elements.

    Raises `UnknownNameError` for a root that is not declared, `InputError` if no document with this
    root can end.
    """

    root: str
    elements: tuple[ElementType, ...]
    paths: Paths = field(init=False, compare=False, repr=False)
    heights: Mapping[str, int] = field(init=False, compare=False, repr=False)
    #: the elements by name
    _declared: Mapping[str, ElementType] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        declared = MappingProxyType({one.name: one for one in self.elements})
        if self.root not in declared:
            raise UnknownNameError("element", self.root, declared)
        heights = MappingProxyType(least_heights(self.elements))
        if self.root not in heights:
            raise InputError(
                f"every {self.root} would need another one inside, or an element that is not "
                "declared, without end; make one of them optional"
            )
        object.__setattr__(self, "_declared", declared)
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "paths", allowed_paths(self.root, self.elements, heights))

    def element(self, name: str) -> ElementType:
        """The declared type of that name; raises `UnknownNameError` if there is none."""
        try:
            return self._declared[name]
        except KeyError:
            raise UnknownNameError("element", name, self._declared) from None

    def __reduce__(self) -> tuple[type[Dtd], tuple[str, tuple[ElementType, ...]]]:
        """Pickle root and elements; the rest follows, and read-only views cannot be pickled."""
        return type(self), (self.root, self.elements)
