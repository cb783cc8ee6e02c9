"""XML documents: hostile bytes in, one flat form out.

`read_document` is the only door. What it lets through is well-formed, has no DOCTYPE and lies
within `DocumentBounds`; what it refuses, it refuses before it takes memory.
"""

from sapwood.xml.bounds import DocumentBounds
from sapwood.xml.document import Document
from sapwood.xml.reader import read_document

__all__ = ["Document", "DocumentBounds", "read_document"]
