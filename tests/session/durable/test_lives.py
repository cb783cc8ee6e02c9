"""Consumers come, go, crash and acknowledge, time passes, brokers are killed: nothing is lost.

The model is a list: for each name the place from which its publications count. What its filter
accepts from there on has to be seen at least once, and never again once its acknowledgement was
answered (`World` checks the latter at each delivery).
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from sapwood.wire.durable import Policy
from tests.examples import examples
from tests.session.durable.world import Reader, World

NAMES = {"ones": 1, "twos": 2, "threes": 3}
CLIENTS = ("c1", "c2", "c3")
WAIT_S = 5.0


class Lives(RuleBasedStateMachine):
    """All that can happen to three durable subscriptions of one broker."""

    @initialize()
    def begin(self) -> None:
        self.world = World()
        #: the places from which names count; of those committed, and of all
        self.begun: dict[str, int] = {}
        self.kept: dict[str, int] = {}

    @rule(
        name=st.sampled_from(sorted(NAMES)),
        client=st.sampled_from(CLIENTS),
        back=st.none() | st.integers(0, 12),
        window=st.integers(1, 5),
    )
    def come(self, name: str, client: str, back: int | None, window: int) -> None:
        """A consumer comes; a name that is new begins so many places back."""
        end = len(self.world.journal)
        start = None if back is None else max(0, end - back)
        self.world.open(
            name,
            client,
            divisor=NAMES[name],
            start=start,
            window=window,
            policy=Policy(acknowledge_s=WAIT_S),
        )
        self.begun.setdefault(name, end if start is None else start)

    @rule(numbers=st.lists(st.integers(0, 5), min_size=1, max_size=8), late=st.booleans())
    def publish(self, numbers: list[int], late: bool) -> None:
        self.world.publish(*numbers, late=late)

    @rule()
    def deliver(self) -> None:
        self.world.deliver()

    @rule(client=st.sampled_from(CLIENTS))
    def go(self, client: str) -> None:
        self.world.leave(client)

    @rule(data=st.data(), share=st.sampled_from((1, 2, 3)))
    def acknowledge(self, data: st.DataObject, share: int) -> None:
        """Each consumer acknowledges all that it has, or some of it."""
        for reader in list(self.world.readers.values()):
            waiting = self._unasked(reader)
            chosen = [one for one in waiting if share == 1 or data.draw(st.integers(1, share)) == 1]
            if chosen:
                self.world.acknowledge(reader, chosen)

    @staticmethod
    def _unasked(reader: Reader) -> list[int]:
        pending = {number for asked in reader.asked.values() for number in asked}
        return [number for number in reader.unacknowledged if number not in pending]

    @rule(seconds=st.sampled_from((0.1, 2.0, WAIT_S, 60.0)))
    def wait(self, seconds: float) -> None:
        self.world.advance(seconds)

    @rule(places=st.integers(1, 10))
    def look(self, places: int) -> None:
        self.world.look(places)

    @rule()
    def turn(self) -> None:
        self.world.turn()

    @rule(data=st.data(), share=st.sampled_from((1, 2)))
    def commit(self, data: st.DataObject, share: int) -> None:
        """Consumers acknowledge a part of what they get with the next commit."""
        for _ in range(2):
            self.world.commit()
            self.kept = dict(self.begun)
            self.acknowledge(data, share)

    @rule(keeps_journal=st.booleans(), back=st.booleans())
    def crash(self, keeps_journal: bool, back: bool) -> None:
        self.world.crash(keeps_journal=keeps_journal)
        self.begun = dict(self.kept)
        for name in self.begun if back else ():
            self.come(name, "c1", None, 5)

    @invariant()
    def holds_what_is_owed(self) -> None:
        """Nothing below the lowest place that is held is owed to anybody."""
        holds = self.world.hub.holds()
        under_way = {place for _, place in self.world.under_way}  # which routing holds
        for name, begun in self.begun.items():
            for place in range(begun, len(self.world.journal)):
                is_owed = self.world.journal[place] % NAMES[name] == 0 and place not in under_way
                if is_owed and place not in self.world.seen[name]:
                    assert holds is not None
                    assert holds <= place

    def teardown(self) -> None:
        world = self.world
        world.deliver()
        world.commit()
        for client in CLIENTS:
            world.leave(client)
        for name in self.begun:
            world.open(name, divisor=None)
        for _ in range(50):
            world.commit()
            world.look(1000)
            for reader in world.readers.values():
                new = self._unasked(reader)
                if new:
                    world.acknowledge(reader, new)
            world.advance(0.1)
            if world.hub.looks() is None and world.hub.holds() is None:
                break
        world.commit()
        for name, begun in self.begun.items():
            places = range(begun, len(world.journal))
            owed = {place for place in places if world.journal[place] % NAMES[name] == 0}
            assert owed <= set(world.seen[name])
            assert owed <= world.done[name]
        assert not [row for row in world.kept.values() if row.kind in ("put", "settled")]


Lives.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=40)
TestLives = Lives.TestCase
