"""The cost of a filter for each publication, by how it is found, for `sapwood.matching.costs`.

`python -m sapwood_lab.benchmarks.costs --size 20000` fills an index with that many filters of one
kind, matches records in batches and one at a time takes the processor time that passed, less that
of an index with none of them. Printed is one line of JSON for each kind: nanoseconds that a filter
adds for a publication (`filter_ns`, the least of some rounds), of how many publications it was a
candidate (`share`), what that is for each candidate (`candidate_ns`), and the cost by the model
(`model_ns`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from math import inf
from random import Random
from typing import Any, Final, NamedTuple

from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.matching.costs import cost_of
from sapwood.matching.index import Index
from sapwood.matching.readiness import RECORDS
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood_lab.benchmarks.machine import describe_machine

PUBLICATIONS: Final = 256
ROUNDS: Final = 5
TEXT_CHARS: Final = 100
VALUES: Final = 100
RANGE: Final = 1_000_000


class Kind(NamedTuple):
    """Filters of one kind: the text of one, and the share of publications that it is tried for.

    Of a kind that takes long there are fewer, one in `fewer`.
    """

    name: str
    text: Callable[[Random], str]
    share: float
    fewer: int = 1
    is_xpath: bool = False


def _word(random: Random) -> str:
    return "".join(random.choice("abcdefghijklmnop") for _ in range(4))


def _number(random: Random) -> int:
    return random.randrange(RANGE)


def _band(random: Random) -> str:
    low = _number(random)
    return f"n > {low} and n < {low + RANGE // 10}"


KINDS: Final = (
    Kind("value", lambda r: f"v = {r.randrange(VALUES)}", 1 / VALUES),
    Kind("value, one compared", lambda r: f"v = {r.randrange(VALUES)} and n > {_number(r)}", 0.01),
    Kind(
        "value, three compared",
        lambda r: f"v = {r.randrange(VALUES)} and n > -{_number(r)} and m > -1 and o > -1",
        0.01,
    ),
    Kind("range", lambda r: f"n > {_number(r)}", 0.5),
    Kind("two-sided range", _band, 0.15),
    Kind("two ranges", lambda r: f"n > {_number(r)} and m > {_number(r)}", 0.25),
    Kind("presence", lambda _: "exists v", 1.0),
    Kind("presence, one compared", lambda r: f"v <> {_number(r)} and n <> {_number(r)}", 0.9),
    Kind("scan", lambda _: "w is null", 1.0),
    Kind("scan, one compared", lambda r: f"w is null and (n is null or n < {_number(r)})", 1.0),
    Kind("text within", lambda r: f"t like '%{_word(r)}%'", 0.9, 20),
    Kind("two texts within", lambda r: f"t like '%{_word(r)}%{_word(r)}%'", 0.9, 20),
    Kind("text with a gap", lambda r: f"t like '%{_word(r)}_{_word(r)}%'", 0.9, 20),
    Kind("path", lambda r: f"/a/b{r.randrange(VALUES)}/c", 0.01, 1, is_xpath=True),
    Kind("path below", lambda r: f"//b{r.randrange(VALUES)}//c", 0.01, 1, is_xpath=True),
    Kind("path, equality", lambda r: f"/a/b1[@x = '{_word(r)}']", 0.0, 1, is_xpath=True),
    Kind(
        "path, condition",
        lambda r: f"//b{r.randrange(10)}[@x > {_number(r)}]",
        0.1,
        10,
        is_xpath=True,
    ),
    Kind("any element", lambda r: f"//*[@x > {_number(r)}]", 1.0, 10, is_xpath=True),
)


def publications(random: Random, *, are_documents: bool) -> list[Publication]:
    """The reference publications: records of four numbers and a text, or documents."""
    if are_documents:
        return [Publication(f"p{n}", document=_document(random)) for n in range(PUBLICATIONS)]
    found = []
    for number in range(PUBLICATIONS):
        text = "".join(random.choice("abcdefghijklmnop ") for _ in range(TEXT_CHARS))
        record = {"v": random.randrange(VALUES), "t": text}
        record |= {name: random.randrange(RANGE) for name in "nmo"}
        found.append(Publication(f"p{number}", record))
    return found


def _document(random: Random) -> bytes:
    """Fifty elements, of a hundred names, each with an attribute."""
    inner = ""
    for _ in range(25):
        name = f"b{random.randrange(VALUES)}"
        inner += f'<{name} x="{_number(random)}"><c>x</c></{name}>'
    return f"<a>{inner}</a>".encode()


def _matched(index: Index, batch: Sequence[Publication]) -> None:
    """Match some publications, without the lists of ids."""
    if batch[0].document is not None:
        index.match_slots([None] * len(batch), [one.read_document() for one in batch])
        return
    done = 0
    while done < len(batch):
        found = index.match_slots([one.record for one in batch[done:]], in_order=False)
        done += max(1, len(found.offsets) - 1)


def _least_ns(index: Index, batch: Sequence[Publication]) -> float:
    """Nanoseconds of processor time for a publication."""
    least = inf
    for _ in range(ROUNDS):
        began = time.process_time_ns()
        _matched(index, batch)
        least = min(least, time.process_time_ns() - began)
    return least / len(batch)


def measured(kind: Kind, size: int, seed: int = 1) -> dict[str, Any]:
    """The cost that a filter of one kind adds to a publication."""
    random = Random(seed)  # noqa: S311 - reproducible on purpose
    parse: Callable[[str], Interest] = parse_xpath if kind.is_xpath else parse_filter
    batch = publications(random, are_documents=kind.is_xpath)
    empty, index = Index(), Index()
    other = "/nothing" if kind.is_xpath else "nothing = 1"
    empty.add("other", parse(other))
    count = size // kind.fewer
    filters = [parse(kind.text(random)) for _ in range(count)]
    index.add_many([(f"f{number}", one) for number, one in enumerate(filters)])
    for one in (empty, index):
        for _ in range(2):
            _matched(one, batch)
        one.fold()
    added = (_least_ns(index, batch) - _least_ns(empty, batch)) / count
    model = sum(cost_of(one).ns for one in filters[:1000]) / min(1000, count)
    return {
        "kind": kind.name,
        "filters": count,
        "filter_ns": round(added, 3),
        "share": kind.share,
        "candidate_ns": round(added / kind.share, 2) if kind.share else None,
        "model_ns": round(model, 3),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what each kind costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=20_000, help="filters of each kind")
    parser.add_argument("--kinds", default="", help="those whose names begin so")
    given = parser.parse_args(arguments)
    RECORDS.load()
    sys.stdout.write(json.dumps(describe_machine()) + "\n")
    for kind in (one for one in KINDS if one.name.startswith(given.kinds)):
        sys.stdout.write(json.dumps(measured(kind, given.size)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
