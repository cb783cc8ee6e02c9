"""The tables of an engine as files: arrays that are mapped into memory, and one JSON document.

The arrays are checked before they are used, since compiled code trusts every index in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec
import numpy as np

from sapwood.errors import FileFormatError
from sapwood.matching.automaton import conditions as kinds
from sapwood.matching.automaton.columns import Array
from sapwood.matching.automaton.conditions import Conditions, ConditionTable
from sapwood.matching.automaton.encoding import Encoder
from sapwood.matching.automaton.equalities import VALUE_SUBJECT, Equalities
from sapwood.matching.automaton.names import Names
from sapwood.matching.automaton.paths import PathTrie
from sapwood.matching.automaton.postings import GAP
from sapwood.matching.automaton.tables import Tables
from sapwood.matching.automaton.targets import NO_EQUALITY, TargetTable
from sapwood.matching.storage import Folder
from sapwood.matching.texts import packed, unpacked
from sapwood.model.patterns.conditions import NameTest

_HEADER: Final = "automaton"
_FORMAT: Final = "sapwood path automaton"
_VERSION: Final = 1

_TYPES: Final[Mapping[str, Any]] = MappingProxyType(
    {
        **dict.fromkeys(("trie_parents", "trie_tests"), np.int32),
        "trie_descendant": np.bool_,
        **dict.fromkeys(("condition_kinds", "condition_relations"), np.uint8),
        **dict.fromkeys(("condition_first", "condition_second", "condition_texts"), np.int32),
        "condition_numbers": np.float64,
        "condition_operands": np.int32,
        "literal_offsets": np.int64,
        "literal_bytes": np.uint8,
        **dict.fromkeys(("equality_tests", "equality_subjects"), np.int32),
        "equality_is_text": np.bool_,
        "equality_numbers": np.float64,
        "equality_offsets": np.int64,
        "equality_bytes": np.uint8,
        **dict.fromkeys(("target_nodes", "target_reaches"), np.int32),
        **dict.fromkeys(("target_equalities", "target_conditions"), np.int32),
        **dict.fromkeys(("target_at_document", "target_reading"), np.bool_),
        "slot_targets": np.int32,
    }
)
"""Every array and its type; all have one dimension."""


class _Header(msgspec.Struct):
    """The content that is no array: the number of patterns, and the tests of names by number."""

    format: str
    version: int
    patterns: int
    tests: list[tuple[str, str | None]]


def write_tables(folder: Folder, tables: Tables) -> None:
    """Write the tables into an empty folder."""
    tests = [(test.local, test.namespace) for test in tables.names.tests]
    patterns = int(np.count_nonzero(tables.of_slots != GAP))
    folder.write_json(_HEADER, msgspec.to_builtins(_Header(_FORMAT, _VERSION, patterns, tests)))
    trie = tables.paths.trie()
    conditions = tables.conditions.conditions()
    literals = packed(map(_encoded, tables.conditions.literals))
    made = tables.equalities.made
    texts = packed(_encoded(one) if isinstance(one, str) else b"" for _, _, one in made)
    targets = [name for name in _TYPES if name.startswith("target_")]
    folder.write_arrays(
        {
            "trie_parents": trie.parents,
            "trie_tests": trie.tests,
            "trie_descendant": trie.descendant,
            **{f"condition_{name}": array for name, array in conditions._asdict().items()},
            "literal_offsets": literals[0],
            "literal_bytes": literals[1],
            "equality_tests": np.array([test for test, _, _ in made], np.int32),
            "equality_subjects": np.array([subject for _, subject, _ in made], np.int32),
            "equality_is_text": np.array([isinstance(one, str) for _, _, one in made], np.bool_),
            "equality_numbers": np.array(
                [0.0 if isinstance(one, str) else one for _, _, one in made], np.float64
            ),
            "equality_offsets": texts[0],
            "equality_bytes": texts[1],
            **dict(zip(targets, tables.targets.columns(), strict=True)),
            "slot_targets": tables.of_slots,
        }
    )


def read_tables(folder: Folder) -> Tables:
    """The tables that `write_tables` wrote; raises `FileFormatError` for anything else."""
    header, names = _read_header(folder)
    arrays = folder.read_own_arrays(_TYPES)
    for name, array in arrays.items():
        if array.dtype != _TYPES[name] or array.ndim != 1:
            raise FileFormatError(folder.place(f"{name}.npy"), "holds another kind of array")
    of_slots = arrays["slot_targets"]
    taken = of_slots[of_slots != GAP]
    if len(taken) != header.patterns or not all(
        check(arrays, len(names.tests)) for check in _CHECKS
    ):
        raise FileFormatError(
            str(folder), "its files do not belong together; build the index again"
        )
    try:
        literals = _texts(arrays, "literal")
        made = _equalities(arrays)
    except UnicodeDecodeError:
        raise FileFormatError(
            str(folder), "holds bytes that are no text; build the index again"
        ) from None
    conditions = ConditionTable.of(
        names, Conditions(*(arrays[f"condition_{name}"] for name in Conditions._fields)), literals
    )
    encoder = Encoder(names, conditions)
    equalities = Equalities(names, encoder)
    equalities.restore(made)
    if len(equalities) != len(made) or len(conditions.literals) != len(literals):
        raise FileFormatError(str(folder), "holds something twice; build the index again")
    columns = tuple(arrays[name] for name in _TYPES if name.startswith("target_"))
    return Tables(
        names,
        PathTrie.of(*(arrays[name] for name in _TYPES if name.startswith("trie_"))),
        conditions,
        encoder,
        equalities,
        TargetTable.of(columns, taken),
        of_slots,
    )


def _read_header(folder: Folder) -> tuple[_Header, Names]:
    place = folder.place(f"{_HEADER}.json")
    try:
        header = msgspec.convert(folder.read_json(_HEADER), _Header)
    except msgspec.ValidationError as error:
        raise FileFormatError(place, f"does not describe an engine: {error}") from None
    if (header.format, header.version) != (_FORMAT, _VERSION):
        raise FileFormatError(
            place, "was written by another program or version; build the index again"
        )
    names = Names()
    for local, namespace in header.tests:
        names.test(NameTest(local, namespace))
    if len(names.tests) != len(header.tests):
        raise FileFormatError(place, "holds a name twice; build the index again")
    return header, names


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _texts(arrays: Mapping[str, Array], name: str) -> list[str]:
    parts = unpacked(arrays[f"{name}_offsets"], arrays[f"{name}_bytes"])
    return [part.decode("utf-8", "surrogatepass") for part in parts]


def _equalities(arrays: Mapping[str, Array]) -> list[tuple[int, int, str | float]]:
    columns = (arrays[f"equality_{name}"].tolist() for name in ("tests", "subjects", "is_text"))
    rows = zip(*columns, arrays["equality_numbers"], _texts(arrays, "equality"), strict=True)
    return [
        (test, subject, text if is_text else float(number))
        for test, subject, is_text, number, text in rows
    ]


def _within(array: Array, low: int, high: int) -> bool:
    """True if every value is at least `low` and below `high`."""
    return not len(array) or bool(array.min() >= low and array.max() < high)


def _check_trie(arrays: Mapping[str, Array], tests: int) -> bool:
    """True if parents come before their children, and node 0 is the document."""
    parents, of_tests = arrays["trie_parents"], arrays["trie_tests"]
    size = len(parents)
    return (
        size == len(of_tests) == len(arrays["trie_descendant"]) > 0
        and parents[0] == -1
        and _within(parents[1:], 0, size)
        and bool((parents[1:] < np.arange(1, size)).all())
        and _within(of_tests, 0, tests + 1)
    )


def _check_conditions(arrays: Mapping[str, Array], tests: int) -> bool:
    """True if operands come before their users, and condition 0 always holds."""
    table = Conditions(*(arrays[f"condition_{name}"] for name in Conditions._fields))
    size = len(table.kinds)
    if not size or any(len(column) != size for column in table.rows):
        return False
    numbers = np.arange(size)
    below = (table.kinds == kinds.CHILD) | (table.kinds == kinds.DESCENDANT)
    joined = (table.kinds == kinds.ALL_OF) | (table.kinds == kinds.ANY_OF)
    first, second = table.first[joined], table.second[joined]
    return (
        table.kinds[0] == kinds.ALWAYS
        and _within(table.kinds, 0, kinds.ANY_OF + 1)
        and _within(table.relations, 0, kinds.AT_LEAST + 1)
        and _within(table.texts, kinds.NO_TEXT, len(arrays["literal_offsets"]) - 1)
        and _within(table.first[below], 0, tests + 1)
        and _within(table.first[table.kinds == kinds.ATTRIBUTE], 1, tests + 1)
        and _within(table.second[below], 0, size)
        and bool((table.second[below] < numbers[below]).all())
        and _within(first, 0, len(table.operands) + 1)
        and _within(second, 0, len(table.operands) + 1)
        and bool((first < second).all())
        and _within(table.operands, 0, size)
        and _operands_come_first(numbers[joined], first, second, table.operands)
    )


def _operands_come_first(numbers: Array, first: Array, second: Array, operands: Array) -> bool:
    return all(
        operands[start:end].max() < number
        for number, start, end in zip(numbers, first, second, strict=True)
    )


def _check_texts(arrays: Mapping[str, Array], tests: int) -> bool:
    """True if texts lie one after the other, and equalities have their texts and names."""
    for name in ("literal", "equality"):
        offsets = arrays[f"{name}_offsets"]
        if not len(offsets) or offsets[0] or offsets[-1] != len(arrays[f"{name}_bytes"]):
            return False
        if bool((np.diff(offsets) < 0).any()):
            return False
    names = ("tests", "subjects", "is_text", "numbers")
    size = len(arrays["equality_offsets"]) - 1
    return (
        all(len(arrays[f"equality_{name}"]) == size for name in names)
        and _within(arrays["equality_tests"], 0, tests + 1)
        and _within(arrays["equality_subjects"], VALUE_SUBJECT, tests + 1)
        and not bool((arrays["equality_subjects"] == 0).any())
        and not bool(np.isnan(arrays["equality_numbers"]).any())
    )


def _check_targets(arrays: Mapping[str, Array], _tests: int) -> bool:
    """True if targets and slots refer to existing nodes, equalities, conditions and targets."""
    columns = [arrays[name] for name in _TYPES if name.startswith("target_")]
    size = len(columns[0])
    return (
        all(len(column) == size for column in columns)
        and _within(columns[0], 0, len(arrays["trie_parents"]))
        and _within(columns[1], 0, len(arrays["trie_parents"]))
        and _within(columns[2], NO_EQUALITY, len(arrays["equality_tests"]))
        and _within(columns[3], 0, len(arrays["condition_kinds"]))
        and _within(arrays["slot_targets"], GAP, size)
    )


_CHECKS: Final[tuple[Callable[[Mapping[str, Array], int], bool], ...]] = (
    *(_check_trie, _check_conditions, _check_texts, _check_targets),
)
