r"""Bounds of the delays of one link's messages: they are always right.

XSiena 6.2, without synchronized clocks. Each message carries a stamp: the time of its sending, by
the sender's clock, and two of the messages that came the other way, each with the moments of its
sending and of its arrival and a bound of its delay:

::

   q   A-----------------------D        q's clock
        \ n                   /
         \                   / m
   p      B---------------- C           p's clock

* a *helper* n, which q sent at A and p received at B: m took at most the time at q from A to D,
  less the time at p from B to C, less the least delay of n (6.6);
* an *echo*, a helper for the other bound: the least delay of m follows from the greatest of n, in
  the same way (6.9; the work does not say that n goes against m, and only that makes it right).

The choice of the best helper never changes: the bound for any later m is smaller by the same amount
than with another helper, drift included. So an end keeps one helper and one echo, whose *keys* are
the smallest and the greatest so far (6.8 and 6.12 made independent of time), and no others.

Worked example, clocks without drift or steps: n leaves q at A = 1000 and reaches p at B = 5300; m
leaves p at C = 5400 and reaches q at D = 1450. Then m took at most 450 - 100 = 350, all of n's
delay included; if n is known to have taken 200 at least, at most 150.

All arithmetic is in integers and rounded once, to the side that keeps the bound right. A clock
begins anywhere, and anew with every run of its process: `epoch` identifies the run of a reading,
and readings of another run are not used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from sapwood.timing.drift import PER, Drift

Reading = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""The reading of a clock, in nanoseconds from an arbitrary origin."""


class Mark(Struct, array_like=True, frozen=True, gc=False):
    """A message that came, and a bound of its delay: the least of a helper, the most of an echo.

    Its time is `sent` by its sender's clock, and `received` by that of its receiver.
    """

    sent: Reading
    received: Reading
    bound: Reading


class Stamp(Struct, array_like=True, frozen=True, tag=70, gc=False):
    """The times of a sender, for all messages that it sends with the stamp.

    `epoch` identifies the run of its clock, `known` that of the receiver's clock to which the marks
    refer. The messages with the stamp were not made before the sender's clock showed `born`; `None`
    where nothing is known of that.
    """

    epoch: Reading
    known: Reading
    sent: Reading
    helper: Mark | None = None
    echo: Mark | None = None
    born: Reading | None = None


class Passage(NamedTuple):
    """The delay of a message, in real nanoseconds: at most and at least.

    `upper` is `None` as long as no stamp refers to this end's clock.
    """

    upper: int | None
    lower: int


class LinkBounds:
    """The bounds of one end of a link.

    `own` and `theirs` are the drift of the two clocks, `epoch` a number that no other run of this
    end has. A message of `size` bytes takes `least_ns(size)` at least, where the bandwidth is
    known. For comparison, `chooses` may be false, so that the last helper serves instead of the
    best, and `improves`, so that no lower bound is worked out.

    #: _helper and _echo are of clock epoch _known of the other end, 0 if there is none yet
    #: _helper_key is the key of _helper, _echo_key that of _echo
    """

    __slots__ = (
        *("_chooses", "_echo", "_echo_key", "_helper", "_helper_key", "_improves", "_known"),
        *("_least_ns", "_lower", "_upper"),
        *("contradictions", "epoch", "last", "own", "theirs"),
    )

    def __init__(
        self,
        own: Drift,
        theirs: Drift,
        epoch: int,
        *,
        least_ns: Callable[[int], int] | None = None,
        chooses: bool = True,
        improves: bool = True,
    ) -> None:
        self.own = own
        self.theirs = theirs
        self.epoch = epoch
        #: the number of times that bounds contradicted each other: a clock had failed
        self.contradictions = 0
        #: the delay of the last message that came
        self.last = Passage(None, 0)
        self._least_ns = least_ns
        self._chooses, self._improves = chooses, improves
        self._known = 0
        self._helper: Mark | None = None
        self._echo: Mark | None = None
        self._helper_key = self._echo_key = 0
        self._upper = Weights.of(PER - own.ppm, PER + theirs.ppm)
        self._lower = Weights.of(PER + own.ppm, PER - theirs.ppm)

    def stamp(self, now: int, born: int | None = None) -> Stamp:
        """The stamp of a write at the reading `now`.

        Marks whose keys do not fit them are damaged, and are dropped.
        """
        if not self._is_sound():
            self.contradictions += 1
            self._helper = self._echo = None
        return Stamp(self.epoch, self._known, now, self._helper, self._echo, born)

    def arrived(self, stamp: Stamp, now: int, size: int = 0) -> Passage:
        """Take in the stamp of a write that arrived at the reading `now`; return its delay."""
        if stamp.epoch != self._known:
            self._forget(stamp.epoch)
        sent = stamp.sent
        upper: int | None = None
        lower = 0 if self._least_ns is None else self._least_ns(size)
        if stamp.known == self.epoch:
            helper, echo = stamp.helper, stamp.echo
            if helper is not None:
                upper = self._most(helper, sent, now)
            if echo is not None and self._improves:
                lower = max(lower, self._least(echo, sent, now))
        if upper is not None and upper < lower:
            # One of the clocks has failed. Nothing that is known can be relied on.
            self.contradictions += 1
            self.epoch += 1
            self._forget(stamp.epoch)
            self.last = Passage(None, 0)
            return self.last
        self._keep(sent, now, lower, upper)
        self.last = Passage(upper, lower)
        return self.last

    def _most(self, helper: Mark, sent: int, now: int) -> int:
        """An upper bound: by 6.6 and 6.11."""
        by = self._upper
        scaled = (now - helper.sent + self.own.tick_ns) * by.own
        scaled -= (sent - helper.received - self.theirs.tick_ns) * by.theirs
        return -(-scaled // by.unit) - helper.bound

    def _least(self, echo: Mark, sent: int, now: int) -> int:
        """A lower bound: by 6.9."""
        by = self._lower
        scaled = (now - echo.sent - self.own.tick_ns) * by.own
        scaled -= (sent - echo.received + self.theirs.tick_ns) * by.theirs
        return scaled // by.unit - echo.bound

    def _keep(self, sent: int, now: int, lower: int, upper: int | None) -> None:
        """Keep the message as helper and as echo, if it is a better one."""
        key = self._lower.key(sent, now, lower)
        if self._helper is None or key < self._helper_key or not self._chooses:
            self._helper, self._helper_key = Mark(sent, now, lower), key
        if upper is None:
            return
        key = self._upper.key(sent, now, upper)
        if self._echo is None or key > self._echo_key or not self._chooses:
            self._echo, self._echo_key = Mark(sent, now, upper), key

    def _is_sound(self) -> bool:
        """True if the keys of the marks follow from the marks."""
        helper, echo = self._helper, self._echo
        return (helper is None or self._lower.key(*_fields(helper)) == self._helper_key) and (
            echo is None or self._upper.key(*_fields(echo)) == self._echo_key
        )

    def _forget(self, epoch: int) -> None:
        """Begin afresh with another run of the other end's clock."""
        self._known = epoch
        self._helper = self._echo = None


class Weights(NamedTuple):
    """The factors of intervals of both clocks, so that one division gives real time.

    `interval of own clock / own_rate - interval of theirs / their_rate`, over one denominator.
    """

    own: int
    theirs: int
    unit: int

    @classmethod
    def of(cls, own_rate: int, their_rate: int) -> Weights:
        """The factors of two rates, in parts of `PER`."""
        return cls(PER * their_rate, PER * own_rate, own_rate * their_rate)

    def key(self, sent: int, received: int, bound: int) -> int:
        """The key by which marks are chosen, whatever the time."""
        return received * self.own - sent * self.theirs - bound * self.unit


def _fields(mark: Mark) -> tuple[int, int, int]:
    return mark.sent, mark.received, mark.bound
