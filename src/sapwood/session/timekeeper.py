"""Time on one connection: stamps on what is written, and ages of what is read.

A write begins with one stamp for all its messages (`sapwood.timing.link_bounds`), made when the
write is taken, and read when it has arrived. The age in it (`born`) holds for the messages that
follow, up to the next `Born`, which replaces it: where publications of different ages leave in one
write. Those that differ by less than `limits.timing.AGE_SPREAD_NS` share one, so that a run stays a
run.

::

   Stamp(sent 9,000,000, born 1,000,000)  Publish  Publish   both made at 1,000,000 or later
   Born(5,242,880)                        Publish            made at 5,900,000, rounded down
   (the next write) Stamp(...)            ...

Readings are of the writer's clock. The reader converts them to its own: a message was not made
before the reader's clock, minus its age, showed that time.
"""

from __future__ import annotations

from sapwood.errors import FrameError
from sapwood.limits.timing import AGE_SPREAD_NS, STAMP_EVERY_NS
from sapwood.timing.drift import Drift
from sapwood.timing.link_bounds import LinkBounds, Passage, Stamp
from sapwood.timing.local import LocalClock
from sapwood.wire.greetings import Timing
from sapwood.wire.messages import Born


class Timekeeper:
    """The state of one end of a connection, as far as time is concerned.

    #: bounds is there as soon as the other end has announced the drift of its clock
    #: born holds for the message that is being read, a reading of the own clock
    #: begun is when the first message was put into the next write, `None` while it is empty;
    #: has_read: messages were read since the last write
    #: _first is the age for the stamp of the next write, _current the one that holds at its end;
    #: both count only where _is_marked
    """

    __slots__ = (
        *(
            "_after",
            "_before",
            "begun",
            "_current",
            "_first",
            "has_read",
            "_is_marked",
            "_sent_at",
        ),
        *("_shown", "born", "bounds", "clock"),
    )

    def __init__(self, clock: LocalClock) -> None:
        self.clock = clock
        self.bounds: LinkBounds | None = None
        self.born: int | None = None
        #: the times at which the last stamp read was made and arrived; then, that of the last bytes
        self._before = self._after = 0
        self._shown = clock.read()
        self.begun: int | None = None
        self._first: int | None = None
        self._current: int | None = None
        self._is_marked = self.has_read = False
        self._sent_at: int | None = None

    # Greetings ---------------------------------------------------------------------------------

    def greeting(self) -> Timing:
        """The timing part of a greeting."""
        drift, now = self.clock.drift, self.clock.read()
        stamp = Stamp(self.clock.epoch, 0, now) if self.bounds is None else self.bounds.stamp(now)
        self._sent_at = now
        return Timing(drift.ppm, drift.tick_ns, stamp)

    def greeted(self, timing: Timing | None) -> None:
        """Take in the timing part of a greeting; without one, the other end keeps no time."""
        if timing is not None:
            theirs = Drift(timing.drift_ppm, timing.tick_ns)
            self.bounds = LinkBounds(self.clock.drift, theirs, self.clock.epoch)
            self.stamped(timing.stamp)

    # Reading -----------------------------------------------------------------------------------

    def arrive(self) -> None:
        """Record the arrival of bytes."""
        self._shown = self.clock.read()

    def stamped(self, stamp: Stamp) -> Passage:
        """Take in the stamp of the messages that follow."""
        bounds = self._known()
        passage = bounds.arrived(stamp, self._shown)
        self._before, self._after = stamp.sent, self._shown
        self._say(stamp.born)
        return passage

    def marked(self, born: Born) -> None:
        """Take in another age, of the messages that follow."""
        self._known()
        self._say(born.born)

    def _known(self) -> LinkBounds:
        if self.bounds is None:
            raise FrameError("a peer stamps what it writes and has not said how its clock drifts")
        return self.bounds

    def _say(self, born: int | None) -> None:
        bounds = self._known()
        age = bounds.theirs.age_ns(born, self._before)
        upper = bounds.last.upper
        self.born = None if age is None or upper is None else self._after - upper - age

    def age_ns(self) -> int | None:
        """An upper bound of the present age of the message being read."""
        return self.clock.drift.age_ns(self.born, self.clock.read())

    # Writing -----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Record that the first message is put into the next write."""
        self.begun = self.clock.read()

    def mark(self, born: int | None) -> Born | None:
        """The mark that has to precede publications not made before `born`, if one is needed."""
        if self.bounds is None:
            return None
        if not self._is_marked:
            self._is_marked, self._first, self._current = True, born, born
            return None
        current = self._current
        if born is None:
            if current is None:
                return None
        elif current is not None and current <= born <= current + AGE_SPREAD_NS:
            return None
        else:
            born -= born % AGE_SPREAD_NS
        self._current = born
        return Born(born)

    def mark_age(self, age_ns: int | None) -> Born | None:
        """The mark for messages that are `age_ns` old by now, as `mark`."""
        if self.bounds is None:
            return None
        return self.mark(None if age_ns is None else self.clock.read() - age_ns)

    def stamp(self, *, is_empty: bool) -> Stamp | None:
        """The stamp of the next write, which is taken now; `None` where it has none."""
        if self.bounds is None:
            return None
        now = self.clock.read()
        if is_empty and not (self.has_read and self._is_silent(now)):
            return None
        born = now if self.begun is None else self.begun
        if self._is_marked:
            born_first = self._first
            stamp = self.bounds.stamp(now, None if born_first is None else min(born, born_first))
        else:
            stamp = self.bounds.stamp(now, born)
        self.begun, self._is_marked, self.has_read = None, False, False
        self._sent_at = now
        return stamp

    def _is_silent(self, now: int) -> bool:
        """True if the other end has had no stamp for so long that its bounds have grown."""
        return self._sent_at is None or now - self._sent_at >= STAMP_EVERY_NS
