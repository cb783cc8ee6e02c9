"""XTrie: tree patterns as substrings of labels, found while the document streams by.

1. `alternatives.py`   a pattern without `or`: labeled nodes, of which all must be found.
2. `decomposition.py`  such a pattern as rows: the longest runs of labels joined by `/`.
3. `trie.py`           the runs of all patterns as one trie with suffix links.
4. `events.py`         a document as what a streaming parser would report.
5. `engine.py`         rows are probed as their runs end, and completed from the leaves up.

Source: Chan, Felber, Garofalakis and Rastogi (Efficient filtering of XML documents with XPath
expressions, 2002) as XNet describes it (Chand 2005, section 3.3; L773-821), for unordered patterns.
Departures: the relative levels of three rows of the printed table (L791-803) contradict their own
definition, which is followed here; values that are compared for equality become labels apart for
attributes and text, because otherwise `b//*[text()='3']` would find `<b x="3"/>`; a path of `*`
alone has no run, and its rows are probed at every element; and `or`, which XNet does not have, is
multiplied out.
"""

from sapwood.matching.documents.xtrie.engine import XTrieEngine

__all__ = ["XTrieEngine"]
