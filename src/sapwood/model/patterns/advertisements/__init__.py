"""Advertisements of documents: which root-to-leaf paths a publisher's documents may have.

They are regular expressions over element names, in the notation of the XPE dissemination work:
`/a/b(/c/d)+/e`, with `*` for any name and `+` for one or more times. From a DTD they are made by
`advertisements_of` and `advertisement_of`; from text by `sapwood.parse_advertisement`.
"""

from sapwood.model.patterns.advertisements.advertisement import Advertisement
from sapwood.model.patterns.advertisements.expressions import (
    Chain,
    Choice,
    Expression,
    PathKind,
    Repeat,
    Step,
)
from sapwood.model.patterns.advertisements.generation import (
    advertisement_of,
    advertisements_of,
)

__all__ = [
    "Advertisement",
    "Chain",
    "Choice",
    "Expression",
    "PathKind",
    "Repeat",
    "Step",
    "advertisement_of",
    "advertisements_of",
]
