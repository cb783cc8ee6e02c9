"""Saved indexes that are damaged, loaded and asked: run as a program, by `test_damage`.

    python -m tests.matching.damage SEED ROUNDS FOLDER [plain]

It prints a line before each round, so whoever started it knows at what it died, and then one line
of JSON: of how many rounds it did what, and what went wrong. With `plain` nothing is compiled,
which takes two seconds less.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from sapwood import Index, parse_xpath
from sapwood.errors import FileFormatError
from sapwood.matching.automaton import PathAutomatonEngine
from sapwood.matching.columnar.engine import ColumnarEngine
from sapwood.matching.documents.engines import DOCUMENT_ENGINES, DocumentEngineInfo
from sapwood.matching.engines import ENGINES, EngineInfo
from sapwood.matching.given_records import Matchable
from tests.matching.columnar import plain_kernels

Files: TypeAlias = dict[str, bytes]
"""The contents of a folder's files, by relative path."""

_PATTERNS: Final = ("//a/b", "/a[b = 'x']", "//c[@k > 1]", "/a//b[.='y' or @k]")
_ASKED: Final[tuple[Matchable, ...]] = (
    *({"n": number, "t": f"k{number}"} for number in range(0, 20, 5)),
    {"n": 3, "t": "axb", "u": True},
    *(b"<a><b>x</b></a>", b"<a><c k='2'/><d><b>y</b></d></a>"),
)


@dataclass(frozen=True, slots=True)
class Saved:
    """An index as it was saved: its engines, its files, and what it matches.

    `others` are the files of another index with the same engines.
    """

    engines: tuple[EngineInfo, DocumentEngineInfo]
    files: Files
    others: Files
    matches: list[list[str]]


def engines(*, is_plain: bool) -> Iterator[tuple[EngineInfo, DocumentEngineInfo]]:
    """Every engine of records with one of documents, in turn; all of these are there."""
    records, documents = dict(ENGINES), dict(DOCUMENT_ENGINES)
    if is_plain:
        columnar = partial(ColumnarEngine, kernels=plain_kernels)
        automaton = partial(PathAutomatonEngine, kernels="plain")
        records["columnar"] = replace(records["columnar"], make=columnar)
        documents["path-automaton"] = replace(documents["path-automaton"], make=automaton)
    size = max(len(records), len(documents))
    return islice(zip(cycle(records.values()), cycle(documents.values()), strict=False), size)


def saved(kind: tuple[EngineInfo, DocumentEngineInfo], folder: Path) -> Saved:
    """An index of these engines, saved there."""
    files: list[Files] = []
    for first in (5, 0):  # the latter stays
        index = Index(*kind)
        for number in range(first, 16):
            wanted = f"n > {number} and t >= 'k' or t like '%x%' and n = {number}"
            index.add(f"r{number}", wanted if number % 5 else f"t = 'k{number}' or u")
        for number, pattern in enumerate(_PATTERNS[bool(first) :]):
            index.add(f"d{number}", parse_xpath(pattern))
        index.save(folder)
        files.append(read(folder))
    return Saved(kind, files[1], files[0], index.match_many(_ASKED))


def read(folder: Path) -> Files:
    """All files below a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def flipped(files: Files, _: Files, random: Random) -> None:
    """A few bits of a file are others."""
    name = _some(files, random)
    content = bytearray(files[name])
    for _time in range(random.choice((1, 1, 2, 40))):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    files[name] = bytes(content)


def zeroed(files: Files, _: Files, random: Random) -> None:
    """A stretch of a file was never written."""
    name = _some(files, random)
    content = bytearray(files[name])
    first = random.randrange(len(content))
    last = min(len(content), first + random.choice((8, 64, 512)))
    content[first:last] = bytes(last - first)
    files[name] = bytes(content)


def truncated(files: Files, _: Files, random: Random) -> None:
    """A file ends early."""
    name = _some(files, random)
    files[name] = files[name][: random.randrange(len(files[name]))]


def lengthened(files: Files, _: Files, random: Random) -> None:
    """A file goes on."""
    files[_some(files, random)] += random.randbytes(random.choice((1, 8, 4096)))


def deleted(files: Files, _: Files, random: Random) -> None:
    """A file is gone, or all of a folder."""
    name = _some(files, random)
    inner = name.rpartition("/")[0] if random.random() < 0.2 else ""
    for gone in [n for n in files if (n.startswith(f"{inner}/") if inner else n == name)]:
        del files[gone]


def swapped(files: Files, _: Files, random: Random) -> None:
    """Two files have each other's name."""
    one, other = _some(files, random), _some(files, random)
    files[one], files[other] = files[other], files[one]


def mixed(files: Files, others: Files, random: Random) -> None:
    """A file, or half of them, is of another index with the same engines."""
    names = sorted(others)
    for name in random.sample(names, random.choice((1, len(names) // 2))):
        files[name] = others[name]


def added(files: Files, _: Files, random: Random) -> None:
    """A file is there once more under another name."""
    files["more-" + _some(files, random).replace("/", "-")] = b"more"


DAMAGES: Final[tuple[Callable[[Files, Files, Random], None], ...]] = (
    *(flipped, flipped, flipped, zeroed, truncated, lengthened, deleted, swapped, mixed, added),
)


def check(kept: Saved, folder: Path, files: Files) -> str | None:
    """The fault in how an index with these files is loaded: `None`, as a rule."""
    changed = {n for n in files.keys() | kept.files.keys() if files.get(n) != kept.files.get(n)}
    try:
        index = Index.load(folder, *kept.engines)
    except FileFormatError as error:
        if not changed:
            return f"refused although nothing is wrong: {error}"
        # Where the header is of another index all other files are wrong.
        those = changed if "index.json" not in changed else {"index.json", *kept.files}
        named = any(str(folder / name) in str(error) for name in those)
        named = named or ("index.json" not in files and "it has no index.json" in str(error))
        is_clear = named and ("build the index again" in str(error) or "newer" in str(error))
        return None if is_clear else f"another file is named, or no remedy: {error}"
    except Exception as error:  # noqa: BLE001 - any other is what is looked for
        return f"{type(error).__name__}: {error}"
    found = index.match_many(_ASKED)
    if changed:
        is_right = "rightly" if found == kept.matches else "wrongly"
        return f"loaded, and matched {is_right}, although {sorted(changed)} changed"
    return None if found == kept.matches else "matches something else although nothing is wrong"


def put(folder: Path, former: Files, files: Files) -> None:
    """Make the files below a folder these; they were the former ones."""
    for name in former.keys() - files.keys():
        (folder / name).unlink()
    for name, content in files.items():
        if former.get(name) != content:
            (folder / name).write_bytes(content)


def main(arguments: Sequence[str]) -> None:
    seed, rounds, work, *plain = arguments
    random = Random(int(seed))
    kinds = []
    for number, kind in enumerate(engines(is_plain=bool(plain))):
        folder = Path(work, str(number))
        kinds.append((folder, saved(kind, folder)))
    done: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(int(rounds)):
        folder, kept = kinds[number % len(kinds)]
        files = dict(kept.files)
        # Now and then nothing is done, to see that this is no reason to refuse.
        damages = (
            ()
            if number // len(kinds) % 20 == 0
            else random.choices(DAMAGES, k=1 + (random.random() < 0.2))
        )
        for damage in damages:
            if files.get("index.json"):
                damage(files, kept.others, random)
        names = "+".join(damage.__name__ for damage in damages) or "nothing"
        story = f"round {number}: {kept.engines[0].name}, {kept.engines[1].name}: {names}"
        sys.stdout.write(f"{story}\n")
        sys.stdout.flush()
        put(folder, kept.files, files)
        fault = check(kept, folder, files)
        put(folder, files, kept.files)
        done["unchanged" if files == kept.files else "damaged"] += 1
        wrong += [f"{story}: {fault}"] if fault else []
    sys.stdout.write(json.dumps({"done": done, "wrong": wrong}) + "\n")


def _some(files: Files, random: Random) -> str:
    """A file that is not empty."""
    return random.choice(sorted(name for name, content in files.items() if content))


if __name__ == "__main__":
    main(sys.argv[1:])
