"""All engines of documents against libxml2 and the patterns, on whatever Hypothesis comes up with.

`make fuzz TESTS=tests/matching/documents` is the long form: 2,000 examples of each test, of which
the first alone has 150 or more pairs of expression and document each, 300,000 in all.
"""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sapwood.language.xpath import XPathBounds, parse_xpath
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml import read_document
from tests.examples import examples
from tests.matching.documents.variants import VARIANTS
from tests.xml.made import documents
from tests.xpaths import expressions, truth

LARGE = XPathBounds(text=100_000, steps=1000, predicates=1000, nesting=100, descendants=100)

EXACT = tuple(info for info in VARIANTS if info.name != "reference-xpath")
"""All of them are asked about each example: to draw one takes longer than to match it."""


@settings(max_examples=examples(30))
@given(
    texts=st.lists(expressions(), min_size=30, max_size=36),
    asked=st.lists(documents(), min_size=5, max_size=7),
)
def test_expressions_mean_what_libxml2_says(texts: list[str], asked: list[bytes]) -> None:
    patterns = [parse_xpath(text, bounds=LARGE) for text in texts]
    for data in asked:
        document = read_document(data)
        for text, pattern in zip(texts, patterns, strict=True):
            assert pattern.accepts(document) is truth(text, data), text


@given(
    texts=st.lists(expressions(), max_size=12), asked=st.lists(documents(), min_size=1, max_size=3)
)
def test_engines_match_what_the_patterns_accept(texts: list[str], asked: list[bytes]) -> None:
    patterns = [parse_xpath(text, bounds=LARGE) for text in texts]
    read = [read_document(data) for data in asked]
    expected = [
        [2 * slot for slot, one in enumerate(patterns) if one.accepts(document)]
        for document in read
    ]
    for info in EXACT:
        engine = info.make()
        for slot, pattern in enumerate(patterns):
            engine.add(2 * slot, pattern)
        engine.validate()
        for data, document, wanted in zip(asked, read, expected, strict=True):
            assert engine.match(data) == wanted, info.name
            assert engine.match(document) == wanted, info.name
            assert engine.match_any(data) is bool(wanted), info.name
        offsets, slots = engine.match_slots(asked)
        found = [slots[a:b].tolist() for a, b in pairwise(offsets.tolist())]
        assert found == expected, info.name
        assert (offsets.dtype.name, slots.dtype.name) == ("int64", "int32")
        engine.validate()


class Churn(RuleBasedStateMachine):
    """Patterns come and go in all engines at once, documents in between."""

    @initialize()
    def start(self) -> None:
        self.engines = {info.name: info.make() for info in EXACT}
        self.patterns: dict[int, TreePattern] = {}

    @rule(text=expressions())
    def add(self, text: str) -> None:
        self._add(parse_xpath(text, bounds=LARGE))

    @rule(data=st.data())
    def add_again(self, data: st.DataObject) -> None:
        if self.patterns:
            self._add(self.patterns[data.draw(st.sampled_from(sorted(self.patterns)))])

    def _add(self, pattern: TreePattern) -> None:
        slot = next(slot for slot in range(len(self.patterns) + 1) if slot not in self.patterns)
        self.patterns[slot] = pattern
        for engine in self.engines.values():
            engine.add(slot, pattern)

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        if self.patterns:
            slot = data.draw(st.sampled_from(sorted(self.patterns)))
            del self.patterns[slot]
            for engine in self.engines.values():
                engine.remove(slot)

    @rule(data=documents())
    def match(self, data: bytes) -> None:
        document = read_document(data)
        expected = [slot for slot, one in sorted(self.patterns.items()) if one.accepts(document)]
        for name, engine in self.engines.items():
            assert engine.match(data) == expected, name

    @invariant()
    def is_consistent(self) -> None:
        for engine in getattr(self, "engines", {}).values():
            engine.validate()
            assert len(engine) == len(self.patterns)


TestChurn = Churn.TestCase
TestChurn.settings = settings(max_examples=examples(30))
