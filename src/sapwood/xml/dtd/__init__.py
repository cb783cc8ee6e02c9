"""Document type definitions: the valid documents of one kind, and the paths they have.

`read_dtd` is the only entry. A DTD is read to know the possible documents of a publisher, to make
documents and to judge mergers; published documents bring none (`sapwood.xml.read_document`).
"""

from sapwood.xml.dtd.content import (
    AttributeType,
    ChoiceParticle,
    ContentKind,
    ElementType,
    NameParticle,
    Occurs,
    Particle,
    Presence,
    SequenceParticle,
)
from sapwood.xml.dtd.definition import Dtd
from sapwood.xml.dtd.paths import Paths
from sapwood.xml.dtd.reader import read_dtd

__all__ = [
    "AttributeType",
    "ChoiceParticle",
    "ContentKind",
    "Dtd",
    "ElementType",
    "NameParticle",
    "Occurs",
    "Particle",
    "Paths",
    "Presence",
    "SequenceParticle",
    "read_dtd",
]
