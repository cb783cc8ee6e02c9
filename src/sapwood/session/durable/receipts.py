"""The receipts of one consumer of a mailbox, at the client's end.

::

   delivered -> in hand -> acknowledged -> confirmed: the broker never delivers it again
                   ^            |
                   +------------+  delivered again: the application does not see it again

The application sees each number once: a number that is delivered again while the application has it
is not new, and one that it has acknowledged is acknowledged again. So only the numbers in hand and
those that the broker has not confirmed are remembered, both bounded by the consumer's window.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sapwood.errors import InputError
from sapwood.limits.durable import ACKNOWLEDGE_RUNS_MAX


class Receipts:
    """The receipts of one consumer.

    #: a number is in _in_hand or in _acknowledged or in neither
    #: the numbers in _sent, by serial, and those in _unsent are in _acknowledged
    """

    __slots__ = (
        "_acknowledged",
        "_highest",
        "_in_hand",
        "_sent",
        "_serial",
        "_unsent",
        "generation",
    )

    def __init__(self, generation: str = "", acknowledged: Iterable[int] = ()) -> None:
        #: the generation of the durable subscription, once it is known
        self.generation = generation
        self._in_hand: set[int] = set()
        #: the highest number that was delivered
        self._highest = 0
        self._acknowledged = set(acknowledged)
        self._unsent: list[int] = sorted(self._acknowledged)
        self._sent: dict[int, list[int]] = {}
        self._serial = 0

    @property
    def unconfirmed(self) -> Collection[int]:
        """The acknowledged numbers that the broker may deliver again."""
        return self._acknowledged

    def joined(self, generation: str) -> bool:
        """Begin again with a subscription; true if its numbers are those of before.

        The numbers acknowledged and not confirmed are to be sent again.
        """
        self._sent.clear()
        if generation != self.generation:
            known = bool(self.generation)
            self.generation = generation
            self._highest = 0
            self._in_hand.clear()
            self._acknowledged.clear()
            self._unsent.clear()
            return not known
        self._unsent = sorted(self._acknowledged)
        return True

    def delivered(self, number: int) -> bool:
        """Record a delivery; true if the application is to see it."""
        self._highest = max(self._highest, number)
        if number in self._acknowledged:
            self._unsent.append(number)
            return False
        if number in self._in_hand:
            return False
        self._in_hand.add(number)
        return True

    def acknowledge(self, number: int) -> bool:
        """Acknowledge a delivery; `False` if the application has done so before.

        Raises `InputError` for a number that was never delivered.
        """
        if number in self._in_hand:
            self._in_hand.remove(number)
            self._acknowledged.add(number)
            self._unsent.append(number)
            return True
        if number <= self._highest:
            return False
        raise InputError(
            f"number {number} was never delivered here; the last one delivered is {self._highest}"
        )

    def up_to(self, number: int) -> list[int]:
        """The numbers in hand up to this one."""
        return sorted(one for one in self._in_hand if one <= number)

    def take_request(self) -> tuple[int, tuple[int, ...]] | None:
        """The serial and the runs of the next request to acknowledge, if there is one."""
        if not self._unsent:
            return None
        numbers = sorted(set(self._unsent))
        runs, count = runs_of(numbers, ACKNOWLEDGE_RUNS_MAX)
        self._serial += 1
        self._sent[self._serial] = numbers[:count]
        self._unsent = numbers[count:]
        return self._serial, runs

    def confirmed(self, serial: int) -> list[int]:
        """Confirm all numbers sent up to this request; return them."""
        found: list[int] = []
        for sent in [one for one in self._sent if one <= serial]:
            found += self._sent.pop(sent)
        waiting = set(self._unsent)
        done = [one for one in found if one in self._acknowledged and one not in waiting]
        self._acknowledged.difference_update(done)
        return done

    @property
    def are_settled(self) -> bool:
        """True if the broker has confirmed all acknowledged numbers."""
        return not self._acknowledged


def runs_of(numbers: Sequence[int], numbers_max: int) -> tuple[tuple[int, ...], int]:
    """Ascending numbers as runs, with at most `numbers_max` bounds, and how many they contain."""
    runs: list[int] = []
    for at, number in enumerate(numbers):
        if runs and number == runs[-1] + 1:
            runs[-1] = number
        elif len(runs) + 2 > numbers_max:
            return tuple(runs), at
        else:
            runs += (number, number)
    return tuple(runs), len(numbers)
