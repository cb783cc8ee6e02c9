"""XTrie: tree patterns as substrings of labels, found while the document streams by.

1. `alternatives.py`   a pattern without `or`: labeled nodes, of which all must be found.
2. `decomposition.py`  such a pattern as rows: the longest runs of labels joined by `/`.
3. `trie.py`           the runs of all patterns as one trie with suffix links.
4. `events.py`         a document as what a streaming parser would report.
5. `engine.py`         rows are probed as their runs end, and completed from the leaves up.

Source: Chan, Felber, Garofalakis and Rastogi (Efficient filtering of XML documents with XPath
expressions, 2002) as XNet describes it (Chand 2005, section 3.3; L773-821), for unordered patterns
and, as an option of the engine, for ordered ones (L821). A level of the open path is one element,
so what is known of a row is kept by level: a bit for each row that hangs on it, or, where order
counts, the elements that each branch can begin with.

Cost: for a start tag, the suffixes of its state and the rows that end there, each against the open
occurrences of its parent row, about a microsecond a row; nothing at all for rows whose runs do not
occur. Adding and removing take some tens of microseconds; the links are made again before the next
document, at about a microsecond a node of the trie. It wins where few of many patterns have a run
in common with a document and the set changes rarely; thousands of short runs, as `//a` is one, are
probed at every `a`. The default engine is faster on everything that was measured.

Departures: the relative levels of three rows of the printed table (L791-803) contradict their own
definition, which is followed here; values that are compared for equality become labels apart for
attributes and text, because otherwise `b//*[text()='3']` would find `<b x="3"/>`; a path of `*`
alone has no run, and its rows are probed at every element; and `or`, which XNet does not have, is
multiplied out.
"""

from sapwood.matching.published.xtrie.engine import XTrieEngine

__all__ = ["XTrieEngine"]
