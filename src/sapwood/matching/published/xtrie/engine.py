"""The engine of XTrie: rows in tables, through which each document is streamed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock

from sapwood.errors import InvariantError
from sapwood.language.xpath.bounds import UNBOUNDED
from sapwood.language.xpath.normal import written_form
from sapwood.language.xpath.parser import parse
from sapwood.matching.documents.protocol import Readable
from sapwood.matching.published.xtrie.alternatives import alternatives
from sapwood.matching.published.xtrie.decomposition import decompose
from sapwood.matching.published.xtrie.passing import Passing
from sapwood.matching.published.xtrie.table import Alternative, Table
from sapwood.matching.unbatched import UnbatchedEngine
from sapwood.model.patterns.conditions import Below
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml import Document, DocumentBounds, Listener, replay, stream_document
from sapwood.xml.bounds import DEFAULT_BOUNDS


class XTrieEngine(UnbatchedEngine[TreePattern, Readable]):
    """XTrie over tree patterns (see `sapwood.matching.published.xtrie`).

    Patterns that compare local names, and those that compare expanded ones, have a table each,
    because an element is one label in either table.

    With `ordered`, the branches of a node must be found in the order in which the expression names
    them, predicates before the path that goes on: the elements that they begin with are different
    and come one after the other in the document. Attributes, texts and comparisons have no order.
    That is XNet's variant (section 3.3.3) and not XPath's meaning, so the catalogue lists such an
    engine as inexact; a pattern without its source text is taken in the order of its normal form.

    With `single_paths`, patterns without branches take XNet's variant for single paths; all other
    patterns are matched as without it.
    """

    def __init__(
        self,
        bounds: DocumentBounds = DEFAULT_BOUNDS,
        *,
        ordered: bool = False,
        single_paths: bool = False,
    ) -> None:
        self._bounds = bounds
        self._ordered = ordered
        self._single_paths = single_paths
        #: the table of local names, and that of expanded ones
        self._tables = (Table(), Table())
        #: slot -> its table, its alternatives, true if it reads content; exactly the taken slots
        self._taken: dict[int, tuple[Table, tuple[Alternative, ...], bool]] = {}
        self._readers = 0
        self._lock = Lock()

    def __len__(self) -> int:
        """The number of taken slots."""
        return len(self._taken)

    def add(self, slot: int, pattern: TreePattern) -> None:
        """Put `pattern` into `slot`.

        Raises `LimitError` for a pattern with more than `limits.EXPANSIONS_MAX` alternatives; the
        engine is then as it was.
        """
        assert slot not in self._taken, f"slot {slot} is taken"
        asked = self._written(pattern) if self._ordered else pattern.root
        decomposed = [decompose(root, ordered=self._ordered) for root in alternatives(asked)]
        table = self._tables[pattern.namespaces is not None]
        added = tuple(table.add(slot, rows) for rows in decomposed)
        self._taken[slot] = (table, added, pattern.reads_content)
        self._readers += pattern.reads_content

    def _written(self, pattern: TreePattern) -> Below:
        """The conditions of a pattern, in the order of its text."""
        if pattern.source is None:
            return pattern.root
        bound = None if pattern.bindings is None else dict(pattern.bindings)
        # The pattern was within the bounds when it was read, so none are checked.
        return written_form(parse(pattern.source, bound, UNBOUNDED))

    def remove(self, slot: int) -> None:
        """Free `slot`."""
        table, added, reads_content = self._taken.pop(slot)
        for alternative in added:
            table.remove(alternative)
        self._readers -= reads_content

    def match(self, document: Readable) -> list[int]:
        """The slots whose patterns accept `document`, ascending.

        Bytes are matched while they are read. The memory at any time is that of
        `sapwood.xml.streaming`, the state of open elements and, for elements whose string-value
        some pattern compares, the text.
        """
        self.fold()
        passing = [
            Passing(table, expanded=expanded, single_paths=self._single_paths)
            for expanded, table in zip((False, True), self._tables, strict=True)
            if table.alternatives
        ]
        listener: Listener = passing[0] if len(passing) == 1 else _All(passing)
        if isinstance(document, Document):
            replay(document, listener)
        else:
            stream_document(document, listener, self._bounds, content=self._readers > 0)
        assert all(one.is_at_an_end() for one in passing), "what was open has ended"
        return sorted(set().union(*(one.matched for one in passing)))

    def fold(self) -> None:
        """Link the tries, so that no document waits for it."""
        with self._lock:
            for table in self._tables:
                table.runs.link()

    def validate(self) -> None:
        """Check that the tables have exactly the alternatives of the taken slots."""
        for table in self._tables:
            table.validate()
            taken = {
                alternative: slot
                for slot, (its, added, _) in self._taken.items()
                if its is table
                for alternative in added
            }
            if taken != {one: one.rows[0].slot for one in table.alternatives}:
                raise InvariantError("the alternatives are not those of the taken slots")


class _All:
    """A listener that calls several listeners, or none."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self.listeners = listeners

    def start(self, name: str, attributes: Iterable[tuple[str, str]]) -> None:
        heard = tuple(attributes)
        for listener in self.listeners:
            listener.start(name, heard)

    def text(self, text: str) -> None:
        for listener in self.listeners:
            listener.text(text)

    def end(self) -> None:
        for listener in self.listeners:
            listener.end()
