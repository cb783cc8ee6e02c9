"""The summary of a run over files of subscriptions and publications."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sapwood.files import Counts
from sapwood.model.amounts import amount


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a run, for a person and for a program."""

    subscriptions: Counts
    publications: Counts
    deliveries: int
    rejected_file: str

    @property
    def rejected(self) -> int:
        """Lines of both files that could not be used."""
        return self.subscriptions.rejected + self.publications.rejected

    def members(self) -> dict[str, Any]:
        """The summary as a JSON object."""
        subscribed, published = self.subscriptions, self.publications
        return {
            "subscriptions": {
                "read": subscribed.read,
                "good": subscribed.good,
                "rejected": subscribed.rejected,
            },
            "publications": {
                "read": published.read,
                "good": published.good,
                "rejected": published.rejected,
            },
            "deliveries": self.deliveries,
            "rejected_file": self.rejected_file if self.rejected else None,
        }

    def text(self, *, first_rejected: str | None = None) -> str:
        """The summary in a few lines."""
        subscribed, published = self.subscriptions, self.publications
        publications = amount(published.good, "publication")
        subscriptions = amount(subscribed.good, "subscription")
        deliveries = amount(self.deliveries, "delivery", "deliveries")
        lines = [f"{publications} matched against {subscriptions}: {deliveries}"]
        if self.rejected:
            lines.append(
                f"{amount(self.rejected, 'line')} rejected ({subscribed.rejected:,} of the "
                f"subscriptions, {published.rejected:,} of the publications): see "
                f"{self.rejected_file}"
            )
        if first_rejected is not None:
            lines.append(f"rejected first: {first_rejected}")
        return "\n".join(lines)
