"""Catalogues: named choices of one kind, such as engines, and what other distributions add to them.

An entry has a name, a one-line summary and whatever else its kind needs: a function that makes the
thing and imports it no earlier than that, which strategies it requires and excludes, whether it is
exact. `Catalogue` knows of all that the name and the summary alone.

Another installed distribution contributes entries by entry points. Where `ENGINES` is the
catalogue of the group `sapwood.engines`, its `pyproject.toml` says::

    [project.entry-points."sapwood.engines"]
    kdtree = "sapwood_lab.engines:KDTREE"       # an `EngineInfo` whose name is kdtree

Nothing looks for contributions before somebody asks for a name that is not built in, or for all
names, and nothing is imported before its own name is asked for. What is installed is code and no
input, like what an import finds: the same installation gives the same catalogue, in one order, in
every run. What is built in comes first, as it is written, then contributions by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from sapwood.errors import ContributionError, InputError, UnknownNameError


class Entry(Protocol):
    """The attributes that all entries have."""

    @property
    def name(self) -> str:
        """The name of the entry in its catalogue."""

    @property
    def summary(self) -> str:
        """A description of the entry, in one line."""


T = TypeVar("T", bound=Entry)
C = TypeVar("C")


class Contribution(NamedTuple):
    """An entry that another distribution offers.

    `load` imports it from `package`, which is a package on its own: `sapwood_lab`, say.
    """

    name: str
    distribution: str
    package: str
    load: Callable[[], object]


class Part(NamedTuple, Generic[T]):
    """One entry in a compound name, and the text behind its colon, if there is one."""

    entry: T
    argument: str | None


Finder: TypeAlias = Callable[[str], tuple[Contribution, ...]]
"""Gives the contributions to a group of entry points, sorted."""


@cache
def installed(group: str) -> tuple[Contribution, ...]:
    """The contributions of the installed distributions to a group, by name and distribution.

    Looked up once: the installed distributions do not change for a process that runs.
    """
    from importlib.metadata import entry_points  # late: it takes longer than all of this room

    found = (
        Contribution(
            point.name,
            f"{point.dist.name} {point.dist.version}" if point.dist else point.module,
            point.module.partition(".")[0],
            point.load,
        )
        for point in entry_points(group=group)
    )
    return tuple(sorted(found, key=lambda one: (one.name, one.distribution)))


class Catalogue(Mapping[str, T]):
    """Entries by name, in a defined order. Never changes.

    `kind` is what an entry is called in messages, `entry` its class. Without a `group` there are no
    contributions. As a mapping it holds contributed entries as well, and imports one when it is
    looked up; a contribution that cannot be used raises `ContributionError` then, and only then.
    """

    __slots__ = ("_built_in", "_entry", "_find", "_group", "kind")

    def __init__(
        self,
        kind: str,
        entry: type[T],
        entries: Iterable[T],
        group: str | None = None,
        find: Finder = installed,
    ) -> None:
        built_in = tuple(entries)
        self.kind: Final = kind
        self._entry = entry
        self._built_in = {one.name: one for one in built_in}
        self._group = group
        self._find = find
        assert len(self._built_in) == len(built_in), f"two entries of one name: {kind}"

    def __getitem__(self, name: str) -> T:
        """The entry of that name; raises `KeyError`, or `ContributionError`."""
        known = self._built_in.get(name)
        if known is not None:
            return known
        offered = [one for one in self._contributions() if one.name == name]
        if not offered:
            raise KeyError(name)
        return self._contributed(offered)

    def __contains__(self, name: object) -> bool:
        """True if there is an entry of that name; imports nothing."""
        return name in self._built_in or any(one.name == name for one in self._contributions())

    def __iter__(self) -> Iterator[str]:
        """All names; imports nothing."""
        further = (one.name for one in self._contributions() if one.name not in self._built_in)
        return iter((*self._built_in, *dict.fromkeys(further)))

    def __len__(self) -> int:
        """The number of names."""
        return sum(1 for _ in self)

    def named(self, name: str) -> T:
        """The entry of that name.

        Raises `UnknownNameError` with the names there are, `ContributionError` for an entry of
        another distribution that cannot be used.
        """
        found = self.get(name)
        if found is None:
            raise UnknownNameError(self.kind, name, self)
        return found

    def chosen(self, given: T | str) -> T:
        """An entry that is given by name, or itself; errors as `named`, and `InputError`."""
        if isinstance(given, self._entry):
            return given
        if isinstance(given, str):
            return self.named(given)
        article = "an" if self.kind[0] in "aeiou" else "a"
        raise InputError(
            f"{article} {self.kind} is chosen by its name or as {self._entry.__name__}, not as "
            f"{type(given).__name__}"
        )

    def parts(self, text: str) -> tuple[Part[T], ...]:
        """The parts of a compound name: names joined by `+`, with arguments behind colons.

        `advertisement+covering:flat-1,columnar+xsearch+merging:0.1` has the parts `advertisement`,
        `covering` with the argument `flat-1,columnar+xsearch`, and `merging` with `0.1`, if those
        three names are in the catalogue and `xsearch` is not: a `+` within an argument belongs to
        it unless a name follows. Errors as `named`.
        """
        parts: list[Part[T]] = []
        for piece in text.split("+"):
            name, colon, argument = piece.partition(":")
            last = parts[-1] if parts else None
            if last is not None and last.argument is not None and name not in self:
                parts[-1] = last._replace(argument=f"{last.argument}+{piece}")
            else:
                parts.append(Part(self.named(name), argument if colon else None))
        return tuple(parts)

    def usable(self) -> tuple[tuple[T, ...], tuple[ContributionError, ...]]:
        """All entries that can be used, and why others cannot: for lists, which one must not end.

        Among the others are those that have the name of one that is built in, which stands.
        """
        entries, errors = [*self._built_in.values()], []
        for name in self:
            if name not in self._built_in:
                try:
                    entries.append(self[name])
                except ContributionError as error:
                    errors.append(error)
        errors += [
            ContributionError(self.kind, one.name, one.distribution, "the name is taken")
            for one in self._contributions()
            if one.name in self._built_in
        ]
        return tuple(entries), tuple(errors)

    def _contributions(self) -> tuple[Contribution, ...]:
        return () if self._group is None else self._find(self._group)

    def _contributed(self, offered: list[Contribution]) -> T:
        """The one entry of a name that is not built in; `ContributionError` if it is no good."""
        found = the_only(offered, self.kind, self._entry)
        name, distribution = offered[0].name, offered[0].distribution
        if found.name != name:
            reason = f"its own name is {found.name!r}"
            raise ContributionError(self.kind, name, distribution, reason)
        return found


def the_only(offered: Sequence[Contribution], kind: str, wanted: type[C]) -> C:
    """The object that the one contribution of a name has brought, an instance of `wanted`.

    `kind` is its name in messages. Raises `ContributionError` where several distributions
    offer that name, and where what is offered cannot be imported or is something else.
    """
    name, distribution, _, load = offered[0]
    if len(offered) > 1:
        others = ", ".join(one.distribution for one in offered[1:])
        reason = f"{others} has one of the same name"
        raise ContributionError(kind, name, distribution, reason)
    try:
        found = load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ContributionError(kind, name, distribution, reason) from error
    if not isinstance(found, wanted):
        reason = f"it is no {wanted.__name__} but of type {type(found).__name__}"
        raise ContributionError(kind, name, distribution, reason)
    return found
