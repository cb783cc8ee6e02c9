"""The corpus: cases of filter, record and outcome, worked out by hand from the language.

Each file holds one topic: the rule it is about, and groups of one filter with the records it
accepts and rejects and the reason. Records are written as in JSON, nested where the case is about
nesting; `1e999` is JSON's way to write positive infinity.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """A filter, a record, whether the one accepts the other, and the reason."""

    topic: str
    filter: str
    record: Mapping[str, Any]
    accepted: bool
    why: str

    def __str__(self) -> str:
        verb = "accepts" if self.accepted else "rejects"
        return f"{self.topic}: {self.filter!r} {verb} {dict(self.record)!r} ({self.why})"


def cases() -> Iterator[Case]:
    """All cases, file by file in the order of their names."""
    for source in sorted(files(__name__).iterdir(), key=lambda entry: entry.name):
        if source.name.endswith(".json"):
            content = json.loads(source.read_text(encoding="utf-8"))
            for group in content["groups"]:
                for accepted, key in ((True, "accepts"), (False, "rejects")):
                    for record in group[key]:
                        yield Case(
                            content["topic"], group["filter"], record, accepted, group["why"]
                        )
