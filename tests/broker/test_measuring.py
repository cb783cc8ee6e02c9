"""Round trips to other brokers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from sapwood.broker import measuring
from sapwood.broker.measuring import Meter, round_trip_s
from sapwood.limits.structured import MEASURE_TIMEOUT_S
from sapwood.routing.effects import Measure
from sapwood.routing.inputs import Input, Measured
from sapwood.wire.address import Address
from tests.broker.helpers import Story, running, settings, soon


async def answered(address: str, story: Story | None = None) -> Measured:
    """The answer to a measurement of a broker at an address."""
    meter = Meter((story or Story()).log)
    answers: asyncio.Queue[Input] = asyncio.Queue()
    meter.measure(Measure("r2", address), answers.put_nowait)
    answer = await soon(answers.get())
    assert isinstance(answer, Measured)
    assert (answer.router, answer.address) == ("r2", address)
    await meter.stop()
    return answer


@pytest.fixture
def nowhere() -> Iterator[str]:
    """An address at which nobody listens."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{reserved.getsockname()[1]}"


async def test_a_broker_is_as_far_as_its_round_trip_and_does_not_mind() -> None:
    story = Story()
    async with running(settings("r2"), story) as broker:
        before = len(story.entries)
        answer = await answered(str(broker.address))
        assert answer.delay_s is not None
        assert 0 < answer.delay_s < MEASURE_TIMEOUT_S
        await soon(broker.connections.until(lambda: not broker.connections.all))
    after = story.entries[before:]
    assert not [entry for entry in after if entry["level"] in {"warning", "error"}]


async def test_where_nobody_listens_there_is_no_answer(nowhere: str) -> None:
    story = Story()
    assert (await answered(nowhere, story)).delay_s is None
    assert [entry["level"] for entry in story.entries] == ["debug"]


@pytest.mark.parametrize("address", ["", "udp://127.0.0.1:7411", "127.0.0.1:none", "a..b:1"])
async def test_who_cannot_be_measured_does_not_answer(address: str) -> None:
    assert (await answered(address)).delay_s is None


async def test_who_takes_too_long_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_address: Address) -> float:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(measuring, "round_trip_s", never)
    monkeypatch.setattr(measuring, "MEASURE_TIMEOUT_S", 0.0)
    assert (await answered("127.0.0.1:7411")).delay_s is None


async def test_without_a_word_from_the_system_it_is_the_time_until_there_is_a_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(socket, "TCP_INFO")
    async with running(settings("r2")) as broker:
        assert 0 < await soon(round_trip_s(broker.address)) < MEASURE_TIMEOUT_S


async def test_only_so_many_are_measured_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    most = running_now = 0
    done = asyncio.Event()

    async def slow(_address: Address) -> float:
        nonlocal most, running_now
        running_now += 1
        most = max(most, running_now)
        await done.wait()
        running_now -= 1
        return 1.0

    monkeypatch.setattr(measuring, "round_trip_s", slow)
    monkeypatch.setattr(measuring, "MEASURES_AT_ONCE", 3)
    meter = Meter(Story().log)
    answers: asyncio.Queue[Input] = asyncio.Queue()
    for number in range(9):
        meter.measure(Measure(f"r{number}", "127.0.0.1:7411"), answers.put_nowait)
    while running_now < 3:
        await asyncio.sleep(0)
    done.set()
    assert {(await soon(answers.get())) for _ in range(9)} == {
        Measured(f"r{number}", 1.0, "127.0.0.1:7411") for number in range(9)
    }
    assert most == 3


async def test_what_is_being_measured_ends_with_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_address: Address) -> float:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(measuring, "round_trip_s", never)
    async with running(settings("r1")) as broker:
        broker.dialers.meter.measure(Measure("r2", "127.0.0.1:7411"), lambda _: None)
    tasks = [one.get_name() for one in asyncio.all_tasks()]
    assert not [one for one in tasks if one.startswith("measure")]
