"""Updates of subscription counts, which may be longer than a frame: in parts, and whole again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sapwood.errors import FrameError, InputError
from sapwood.limits import UPDATE_TRIPLES_MAX
from sapwood.routing.messages import Update
from sapwood.routing.propagation.xroute.triples import Operation, Triple
from sapwood.wire.interests import from_text, to_text
from sapwood.wire.messages import LinkUpdate, TripleText

_PART_CHARS: Final = 49_152
"""Characters of filters in a part, unless a single one is longer: with up to four bytes each, a
part fits into the smallest frame that may be configured."""


def to_parts(update: Update) -> Iterator[LinkUpdate]:
    """The messages of a link that carry an update, in order."""
    part: list[TripleText] = []
    chars = 0
    for text in _texts(update.operations):
        wanted = text[0]
        size = len(wanted if isinstance(wanted, str) else wanted.text)
        if part and chars + size > _PART_CHARS:
            yield LinkUpdate(update.origin, update.number, update.sending, tuple(part), more=True)
            part, chars = [], 0
        part.append(text)
        chars += size
    yield LinkUpdate(update.origin, update.number, update.sending, tuple(part))


def _texts(operations: tuple[Operation, ...]) -> Iterator[TripleText]:
    for operation in operations:
        for at, triple in enumerate(operation):
            yield to_text(triple.filter), triple.instances, triple.hidden, at == 0


class Parts:
    """The parts of the update that is arriving on a link.

    #: all parts so far are of one update; none of them was its last
    """

    __slots__ = ("_operations", "_triples", "_update")

    def __init__(self) -> None:
        self._operations: list[list[Triple]] = []
        self._triples = 0
        self._update: tuple[str, int, int] | None = None

    def take(self, part: LinkUpdate) -> Update | None:
        """Take in a part; the update, if it was the last one.

        Raises `FrameError` for what the neighbor should not have sent.
        """
        update = (part.origin, part.number, part.sending)
        if self._update not in (None, update):
            raise FrameError("an update begins before the last one has ended")
        self._update = update
        self._triples += len(part.triples)
        if self._triples > UPDATE_TRIPLES_MAX:
            raise FrameError(f"an update has more than {UPDATE_TRIPLES_MAX} triples")
        try:
            for text in part.triples:
                self._add(text)
        except InputError as error:
            raise FrameError(
                f"the neighbor passed on what it should have refused: {error}"
            ) from error
        if part.more:
            return None
        operations = tuple(tuple(triples) for triples in self._operations)
        self._operations, self._triples, self._update = [], 0, None
        return Update(*update, operations)

    def _add(self, text: TripleText) -> None:
        wanted, instances, hidden, begins = text
        if begins:
            self._operations.append([])
        elif not self._operations:
            raise FrameError("an update begins in the middle of an operation")
        self._operations[-1].append(Triple(from_text(wanted), instances, hidden))
