"""Names as numbers.

Patterns *test* names; each distinct test has a number from 1, and `ANY` is the test of `*`. A
document's name passes at most two tests besides that: one for its local name and one for it with
its namespace. The pair of their numbers is the name's *symbol*; all names that no pattern tests
have the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from sapwood.limits import NAMES_REMEMBERED_MAX
from sapwood.model.patterns.conditions import NameTest
from sapwood.xml.document import local_name

ANY: Final = 0
NONE: Final = -1


class Symbol(NamedTuple):
    """The numbers of the tests that a name passes; `NONE` where there is none."""

    local: int
    expanded: int


UNTESTED: Final = Symbol(NONE, NONE)


class Names:
    """Tests and symbols of one engine; both only ever grow."""

    def __init__(self) -> None:
        #: test -> number, from 1 without gaps
        self._tests: dict[NameTest, int] = {}
        #: name in a document -> number of its symbol; cleared when tests are added
        self._remembered: dict[str, int] = {}
        #: symbol -> number, the inverse of `symbols`
        self._numbers: dict[Symbol, int] = {UNTESTED: 0}
        self.symbols: list[Symbol] = [UNTESTED]
        #: `symbols` as an array, perhaps without the newest ones
        self._pairs = np.array(self.symbols, np.int32)

    @property
    def tests(self) -> list[NameTest]:
        """The tests in the order of their numbers, which begin at 1."""
        return list(self._tests)

    def test(self, test: NameTest | None) -> int:
        """The number of a test."""
        if test is None:
            return ANY
        known = self._tests.get(test)
        if known is None:
            known = self._tests[test] = len(self._tests) + 1
            self._remembered.clear()
        return known

    def number(self, name: str) -> int:
        """The number of the symbol of a document's name."""
        known = self._remembered.get(name)
        return self._resolved(name) if known is None else known

    def numbers(self, names: Sequence[str]) -> list[int]:
        """`number` of each name."""
        known = list(map(self._remembered.get, names))
        if None in known:
            return [self.number(name) for name in names]
        return cast("list[int]", known)

    def tests_of(
        self, symbols: Sequence[int]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The local numbers of symbols, and their expanded numbers."""
        if len(self._pairs) != len(self.symbols):
            self._pairs = np.array(self.symbols, np.int32)
        local, expanded = np.ascontiguousarray(self._pairs[np.array(symbols, np.int32)].T)
        return local, expanded

    def _resolved(self, name: str) -> int:
        local = local_name(name)
        namespace = "" if local == name else name[1 : -len(local) - 1]
        tests = self._tests
        symbol = Symbol(
            tests.get(NameTest(local), NONE), tests.get(NameTest(local, namespace), NONE)
        )
        number = self._numbers.get(symbol)
        if number is None:
            number = self._numbers[symbol] = len(self.symbols)
            self.symbols.append(symbol)
        if len(self._remembered) >= NAMES_REMEMBERED_MAX:
            self._remembered.clear()
        self._remembered[name] = number
        return number
