"""The accuracy of one publication's way: peers that got it in vain, and peers that missed it.

False positives are harmless, for a peer filters what it gets; false negatives are not (L2646). The
ratio of the former is of all peers, that of the latter of the interested ones (L3234, L3325).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Counts of one publication, or of several together."""

    peers: int = 0
    interested: int = 0
    false_positives: int = 0
    false_negatives: int = 0

    @classmethod
    def of(cls, peers: int, interested: Collection[int], received: Collection[int]) -> Accuracy:
        """Compare the peers that accept a publication with those that got it."""
        both = len(set(interested).intersection(received))
        return cls(peers, len(interested), len(received) - both, len(interested) - both)

    def __add__(self, other: Accuracy) -> Accuracy:
        """The sums of both, so that ratios weigh each publication by its peers."""
        return Accuracy(
            self.peers + other.peers,
            self.interested + other.interested,
            self.false_positives + other.false_positives,
            self.false_negatives + other.false_negatives,
        )

    @property
    def false_positive_ratio(self) -> float:
        """The share of all peers that got it in vain."""
        return _share(self.false_positives, self.peers)

    @property
    def false_negative_ratio(self) -> float:
        """The share of the interested peers that did not get it; 0 where no peer is interested."""
        return _share(self.false_negatives, self.interested)

    @property
    def uninterested_ratio(self) -> float:
        """The share of uninterested peers: the false positives of a broadcast."""
        return _share(self.peers - self.interested, self.peers)


def _share(part: int, whole: int) -> float:
    return float(Fraction(part, whole)) if whole else 0.0


def together(accuracies: Iterable[Accuracy]) -> Accuracy:
    """The sum of accuracies."""
    return sum(accuracies, Accuracy())
