"""Paths with one value predicate, drawn so that documents meet them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from sapwood.errors import InputError
from sapwood.xml import Document, read_document

SEED: Final = 20_03
_STEP: Final = re.compile(r"(//?)([^/]+)")
_TRIES: Final = 50
"""How often a step of a path is drawn until one has an attribute or a text in some document."""


def with_values(
    paths: Sequence[str], documents: Sequence[bytes], count: int, seed: int = SEED
) -> Iterator[str]:
    """Distinct expressions: a path and, at one of its steps, an equality of an attribute or text.

    Path and step are drawn evenly. What is compared is drawn from what elements of that name have
    in the documents, and the value from those that attribute or text has anywhere: as YFilter's
    generator does with its values of 1 to 20.
    """
    random = Random(seed)  # noqa: S311 - samples, not secrets
    subjects, values = _contents(documents)
    made: set[str] = set()
    while len(made) < count:
        expression = _drawn(random, paths, subjects, values)
        if expression not in made:
            made.add(expression)
            yield expression


def _drawn(
    random: Random,
    paths: Sequence[str],
    subjects: dict[str, tuple[str, ...]],
    values: dict[str, tuple[str, ...]],
) -> str:
    for _ in range(_TRIES):
        steps = _STEP.findall(random.choice(paths))
        at = random.randrange(len(steps))
        name = steps[at][1]
        if name in subjects:
            subject = random.choice(subjects[name])
            value = random.choice(values[subject])
            parts = [axis + step for axis, step in steps]
            parts[at] += f"[{subject}='{value}']"
            return "".join(parts)
    raise InputError("no step of the paths has an attribute or a text in the documents")


def _contents(
    documents: Sequence[bytes],
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """What elements of each name have to compare, and the values of each."""
    subjects: dict[str, set[str]] = {}
    values: dict[str, set[str]] = {}
    for data in documents:
        document = read_document(data)
        for element, name in enumerate(document.names):
            for subject, value in _compared(document, element):
                if "'" not in value and value.strip():
                    for key in (name, "*"):
                        subjects.setdefault(key, set()).add(subject)
                    values.setdefault(subject, set()).add(value)
    return (
        {name: tuple(sorted(found)) for name, found in subjects.items()},
        {subject: tuple(sorted(found)) for subject, found in values.items()},
    )


def _compared(document: Document, element: int) -> Iterator[tuple[str, str]]:
    for name, value in document.attributes(element):
        yield f"@{name}", value
    for text in document.texts(element):
        yield "text()", text
