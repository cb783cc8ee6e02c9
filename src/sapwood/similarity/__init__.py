"""Similarity of tree patterns: the probability that a document for one is one for the other.

The work (Chand 2005, chapter 8) estimates it from what is known of the documents: a DTD, a synopsis
of those that were published, or both (`knowledge.py`). A pattern is *expanded* into the concrete
elements that it can mean, with the probability of each (`expansion.py`), and another pattern is
searched in that (`estimates.py`). `Similarity` is the door; `Synopsis` the summary of documents.

The room lies below `covering/`, because what covers is similar with certainty, and above
`overlay/`, whose communities are of peers with similar interests. It is not part of `sketches/`,
which know no documents and no filters.
"""

from sapwood.similarity.compression import CompressedSynopsis, compressed
from sapwood.similarity.estimates import Constants, Similarity
from sapwood.similarity.knowledge import Knowledge
from sapwood.similarity.layout import of_bytes, to_bytes
from sapwood.similarity.many import all_proximities, all_similarities
from sapwood.similarity.near.pairs import Near, near_pairs
from sapwood.similarity.opposition import Opposition
from sapwood.similarity.synopsis import Synopsis, SynopsisBuilder

__all__ = [
    "CompressedSynopsis",
    "Constants",
    "Knowledge",
    "Near",
    "Opposition",
    "Similarity",
    "Synopsis",
    "SynopsisBuilder",
    "all_proximities",
    "all_similarities",
    "compressed",
    "near_pairs",
    "of_bytes",
    "to_bytes",
]
