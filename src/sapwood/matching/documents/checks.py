"""A conformance suite for engines of documents: run it on your own engine.

The expected matches come from the corpus, whose cases were worked out by hand, and from the
reference engine, which shares nothing with normal forms. A failure is an `AssertionError` that
names the case.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from sapwood.matching.documents.corpus import DocumentCase, document_cases
from sapwood.matching.documents.protocol import DocumentEngine
from sapwood.matching.documents.reference import ReferenceXPathEngine
from sapwood.model.patterns.pattern import TreePattern

FOLD_EVERY: Final = 10
"""Steps between two folds."""

MakeEngine = Callable[[], DocumentEngine]


def check_document_engine(make: MakeEngine, *, seed: int = 0, steps: int = 150) -> None:
    """Check that an engine returns the expected matches from every method.

    `make` makes an empty engine. `steps` is the number of random additions and removals.
    """
    check_cases(make)
    check_changes(make, seed, steps=steps)


def check_cases(make: MakeEngine) -> None:
    """Check every case of the corpus: each expression alone, and all in one engine."""
    cases = tuple(document_cases())
    slots = {pattern: slot for slot, pattern in enumerate(_patterns(cases))}
    together = make()
    for pattern, slot in slots.items():
        together.add(slot, pattern)
    together.validate()
    for case in cases:
        pattern, data = case.pattern, case.document.encode()
        accepted = slots[pattern] in together.match(data)
        _expect(accepted, case.accepted, f"among all expressions of the corpus, {case}")
        alone = make()
        alone.add(3, pattern)
        _expect(alone.match(data), [3] if case.accepted else [], f"alone, {case}")
        _expect(alone.match_any(data), case.accepted, f"match_any, alone, {case}")


def check_changes(make: MakeEngine, seed: int, *, steps: int) -> None:
    """Check random additions and removals of the corpus's expressions against the reference."""
    random = Random(seed)  # noqa: S311 - samples, not secrets
    cases = tuple(document_cases())
    patterns = _patterns(cases)
    documents = [case.document.encode() for case in cases]
    engine, reference = make(), ReferenceXPathEngine()
    taken: set[int] = set()
    for step in range(steps):
        slot = random.randrange(40)
        change = "remove" if slot in taken else "add"
        if slot in taken:
            engine.remove(slot)
            reference.remove(slot)
        else:
            pattern = random.choice(patterns)
            engine.add(slot, pattern)
            reference.add(slot, pattern)
        taken ^= {slot}
        engine.validate()
        story = f"seed {seed}, step {step}, after {change} of {slot}"
        _expect(len(engine), len(reference), f"{story}: len")
        asked = [random.choice(documents) for _ in range(3)]
        expected = [reference.match(data) for data in asked]
        _expect([engine.match(data) for data in asked], expected, f"{story}: match of {asked}")
        counts = [engine.match_count(data) for data in asked]
        _expect(counts, list(map(len, expected)), f"{story}: match_count of {asked}")
        if step % FOLD_EVERY == 0:
            engine.fold()
            engine.validate()
        offsets, slots = engine.match_slots(asked)
        found = [slots[offsets[at] : offsets[at + 1]].tolist() for at in range(len(asked))]
        _expect(found, expected, f"{story}: match_slots of {asked}")


def _patterns(cases: tuple[DocumentCase, ...]) -> tuple[TreePattern, ...]:
    """The expressions of the corpus, each once."""
    return tuple(dict.fromkeys(case.pattern for case in cases))


def _expect(got: object, wanted: object, story: str) -> None:
    if got != wanted:
        raise AssertionError(f"{story}: got {got!r}, expected {wanted!r}")
