"""XML documents: hostile bytes in, one flat form out, or a stream of what is in them.

`read_document` and `stream_document` are the only doors. What they let through is well-formed, has
no DOCTYPE and lies within `DocumentBounds`; what they refuse, they refuse before it takes memory.
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
