"""XTrie: tree patterns as substrings of labels, found while the document streams by.

1. `alternatives.py`   a pattern without `or`: labeled nodes, of which all must be found.
2. `decomposition.py`  such a pattern as rows: the longest runs of labels joined by `/`.
3. `trie.py`           the runs of all patterns as one trie with suffix links.
4. `table.py`          the rows of all patterns, by the event that probes them.
5. `passing.py`        rows are probed as their runs end, and completed from the leaves up.
6. `engine.py`         the engine: tables, and the stream of each document.

Source: Chan, Felber, Garofalakis and Rastogi (Efficient filtering of XML documents with XPath
expressions, 2002) as XNet describes it (Chand 2005, section 3.3; L773-821), for unordered patterns
and, as options of the engine, for ordered ones and with the variant for single paths (L821). A
document is matched while it is read (`sapwood.xml.streaming`), and after the end of an element
nothing of it is kept but the patterns that were found. A level of the open path is one element, so
the state of a row is kept by level: a bit for each row that hangs on it, or, where order counts,
the elements that each branch can begin with. For a single path that is the level itself.

So memory grows with the depth of a document and the rows that end at open elements, not with its
length. One thing that XNet does not have is kept besides: the text of elements whose string-value
is compared (`[. = 'x']`), until they end.

Cost: for a start tag, the suffixes of its state and the rows that end there, each against the open
occurrences of its parent row, about a microsecond a row; nothing at all for rows whose runs do not
occur. Adding and removing take some tens of microseconds; the links are made again before the next
document, at about a microsecond a node of the trie. It wins where few of many patterns have a run
in common with a document and the set changes rarely; thousands of short runs, as `//a` is one, are
probed at every `a`. The default engine is faster on all that was measured but documents of some 20
elements against tables of a hundred patterns or fewer.

Departures: the relative levels of three rows of the printed table (L791-803) contradict their own
definition, which is followed here; values that are compared for equality become labels apart for
attributes and text, because otherwise `b//*[text()='3']` would find `<b x="3"/>`; a path of `*`
alone has no run, and its rows are probed at every element; and `or`, which XNet does not have, is
multiplied out.
"""

from sapwood.matching.published.xtrie.engine import XTrieEngine

__all__ = ["XTrieEngine"]
