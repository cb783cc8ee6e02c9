"""XML documents: from hostile bytes to one flat form, or to a stream of events.

`read_document` and `stream_document` are the only entries. The documents that they accept are
well-formed, have no DOCTYPE and lie within `DocumentBounds`; others are refused before they take
memory.
"""

from sapwood.xml.bounds import DocumentBounds
from sapwood.xml.document import Document
from sapwood.xml.reader import read_document
from sapwood.xml.streaming import Listener, replay, stream_document

__all__ = [
    "Document",
    "DocumentBounds",
    "Listener",
    "read_document",
    "replay",
    "stream_document",
]
