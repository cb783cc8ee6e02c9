"""The corpus: cases of expression, document and outcome, worked out by hand from XPath 1.0.

Each file holds one topic: the rule it is about, and groups of one expression with the documents it
accepts and rejects and the reason. `namespaces` are the prefixes that come with an expression.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files

from sapwood.language.xpath import parse_xpath
from sapwood.model.patterns.pattern import TreePattern


@dataclass(frozen=True, slots=True)
class DocumentCase:
    """An expression, a document, whether the one accepts the other, and the reason."""

    topic: str
    xpath: str
    namespaces: Mapping[str, str] | None
    document: str
    accepted: bool
    why: str

    @property
    def pattern(self) -> TreePattern:
        """The tree pattern of the expression."""
        return parse_xpath(self.xpath, self.namespaces)

    def __str__(self) -> str:
        verb = "accepts" if self.accepted else "rejects"
        return f"{self.topic}: {self.xpath} {verb} {self.document} ({self.why})"


def document_cases() -> Iterator[DocumentCase]:
    """All cases, file by file in the order of their names."""
    for source in sorted(files(__name__).iterdir(), key=lambda entry: entry.name):
        if source.name.endswith(".json"):
            content = json.loads(source.read_text(encoding="utf-8"))
            for group in content["groups"]:
                for accepted, key in ((True, "accepts"), (False, "rejects")):
                    for document in group[key]:
                        yield DocumentCase(
                            content["topic"],
                            group["xpath"],
                            group.get("namespaces"),
                            document,
                            accepted,
                            group["why"],
                        )
