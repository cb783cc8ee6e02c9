"""Kernels are loaded beside the event loop, and never compiled in it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sapwood.broker import kernels as kernels_module
from sapwood.broker.broker import Broker
from sapwood.broker.kernels import KernelLoader, kernels_for_many, kernels_of, place_kernels
from sapwood.language import parse_filter
from sapwood.matching.auto import AutoEngine
from sapwood.matching.compiling import places
from sapwood.matching.engine_names import Engines
from sapwood.matching.readiness import DOCUMENTS, RECORDS, Awaiting
from sapwood.routing.forwarding.every_hop import EveryHop
from sapwood.routing.router import Router
from sapwood.wire.messages import AcceptedReply, Delivery, PublishRequest, SubscribeRequest
from sapwood.wire.runs import FRAMES
from tests.broker.helpers import Raw, Story, body, running, settings
from tests.matching.switched import Switched
from tests.patience import PATIENCE_S
from tests.routing.wiring import core_of

NOTHING = (sys.executable, "-c", "")


class Kernels(Switched):
    """Kernels that are in the cache once a file is there."""

    marker: Path
    loaded_by: str | None

    def __init__(self, marker: Path) -> None:
        super().__init__(RECORDS)
        self.marker = marker
        self.loaded_by = None

    def is_cached(self) -> bool:
        return self.marker.exists()

    def load(self) -> None:
        self.loaded_by = threading.current_thread().name
        super().load()


def serving_engine(broker: Broker) -> object:
    """The engine that matches records for the clients of a broker."""
    forwarding = core_of(broker.router).forwarding
    assert isinstance(forwarding, EveryHop)
    return forwarding._index._clients._index._records.engine


def finished(loader: KernelLoader) -> None:
    """Wait for all that is under way; unlike `close`, end nothing."""
    for thread in tuple(loader._threads.values()):
        thread.join()


def test_kernels_go_to_the_data_of_a_broker_that_may_write_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in places.VARIABLES:
        # Set first, so that what the broker sets is taken back.
        monkeypatch.setenv(variable, "")
    place_kernels(tmp_path)
    assert places.given_place() is None
    monkeypatch.setattr(places, "places", lambda: (Path("/proc/nowhere"),))
    place_kernels(tmp_path)
    assert places.given_place() == ("SAPWOOD_CACHE_DIR", tmp_path / "kernels")
    monkeypatch.undo()
    assert os.environ.get("SAPWOOD_CACHE_DIR") != str(tmp_path / "kernels")


def test_kernels_in_the_cache_are_loaded_in_a_thread_once_that_pays(tmp_path: Path) -> None:
    story, kernels = Story(), Kernels(tmp_path)
    loader = KernelLoader(story.log, 100, (sys.executable, "-c", "raise SystemExit(9)"))
    loader.worked(kernels, 99)
    assert loader._threads == {}
    loader.worked(kernels, 1)
    loader.worked(kernels, 1)
    finished(loader)
    assert kernels.is_on
    assert kernels.loaded_by == "kernels for records"
    assert [entry["event"] for entry in story.entries] == ["kernels loaded"]
    loader.close()


def test_kernels_that_are_kept_are_loaded_as_soon_as_somebody_subscribes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels_module, "FRAMES", Switched(FRAMES))
    monkeypatch.setenv(places.VARIABLES[0], str(tmp_path))
    story, kernels = Story(), Kernels(tmp_path / "records-of-this.nbi")
    monkeypatch.setattr(places, "places", lambda: (tmp_path / "nowhere", tmp_path))
    loader = KernelLoader(story.log, 100, (sys.executable, "-c", "raise SystemExit(9)"))
    loader.expected(kernels)
    assert loader._threads == {}  # nothing is kept
    (tmp_path / "records-of-another.nbi").touch()
    loader.expected(kernels)
    finished(loader)
    assert not kernels.is_on
    assert loader._threads == {}  # what was kept is of another version
    kernels.marker.touch()
    engine = AutoEngine(Awaiting(kernels, loader))
    engine.add(0, parse_filter("a = 1"))
    finished(loader)
    assert kernels.is_on
    assert [entry["event"] for entry in story.entries] == ["kernels loaded"]
    loader.close()


async def test_who_brings_much_waits_for_kernels_that_are_kept_and_for_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels_module, "RECORDS", Switched(RECORDS))
    monkeypatch.setattr(kernels_module, "FRAMES", Switched(FRAMES))
    monkeypatch.setenv(places.VARIABLES[0], str(tmp_path))
    kernels, ready = Kernels(tmp_path / "records-of-this.nbi"), asyncio.Event()
    monkeypatch.setattr(places, "places", lambda: (tmp_path,))
    loader = KernelLoader(Story().log, 1, (sys.executable, "-c", "raise SystemExit(9)"))
    assert not loader.then(ready.set)  # nothing is loaded
    loader.worked(kernels, 1)  # is compiled first, and that takes long
    assert not loader.then(ready.set)
    finished(loader)
    loader = KernelLoader(Story().log, 1)
    kernels.marker.touch()
    with loader._turn:  # nothing else gets its turn
        loader.expected(kernels)
        assert loader.then(ready.set)
        await asyncio.sleep(0)
        assert not ready.is_set()
    async with asyncio.timeout(PATIENCE_S):
        await ready.wait()
    assert kernels.is_on
    assert not loader.then(ready.set)
    loader.close()


def test_kernels_are_compiled_by_another_process_before_they_are_loaded(tmp_path: Path) -> None:
    story, kernels = Story(), Kernels(tmp_path / "records")
    code = f"import sys; open({str(tmp_path)!r} + '/' + sys.argv[1], 'w')"
    loader = KernelLoader(story.log, 1, (sys.executable, "-c", code))
    loader.worked(kernels, 1)
    finished(loader)
    assert kernels.is_on
    assert kernels.is_cached()
    assert [entry["event"] for entry in story.entries] == ["compiling kernels", "kernels loaded"]
    loader.close()


def test_matching_stays_plain_where_nothing_can_be_compiled(tmp_path: Path) -> None:
    story, kernels = Story(), Kernels(tmp_path / "never")
    code = "import sys; sys.stderr.write('no folder'); sys.exit(2)"
    loader = KernelLoader(story.log, 1, (sys.executable, "-c", code))
    loader.worked(kernels, 1)
    finished(loader)
    loader.worked(kernels, 1)
    finished(loader)
    assert not kernels.is_on
    assert story.reasons("matching stays plain") == ["status 2: no folder"]


def test_matching_stays_plain_where_loading_fails(tmp_path: Path) -> None:
    class Broken(Kernels):
        def load(self) -> None:
            raise OSError("the disk is full")

    story, kernels = Story(), Broken(tmp_path)
    loader = KernelLoader(story.log, 1)
    loader.worked(kernels, 1)
    finished(loader)
    assert story.reasons("matching stays plain") == ["OSError('the disk is full')"]


def test_broker_that_stops_ends_what_compiles(tmp_path: Path) -> None:
    story, kernels = Story(), Kernels(tmp_path / "never")
    begun = tmp_path / "begun"
    code = f"open({str(begun)!r}, 'w'); import signal; signal.pause()"
    loader = KernelLoader(story.log, 1, (sys.executable, "-c", code))
    loader.worked(kernels, 1)
    while not begun.exists():
        assert loader._threads["records"].is_alive()
    loader.close()
    assert not loader._threads["records"].is_alive()
    assert not kernels.is_on
    assert story.reasons("matching stays plain") == []
    loader.worked(Switched(DOCUMENTS), 1)
    assert list(loader._threads) == ["records"]


def test_loader_that_is_closed_compiles_nothing(tmp_path: Path) -> None:
    kernels = Kernels(tmp_path / "never")
    loader = KernelLoader(Story().log, 1, NOTHING)
    loader._closing = True
    loader._load(kernels, may_compile=True)
    assert loader._compiling is None
    assert not kernels.is_on


def test_kernels_that_are_kept_are_there_before_much_is_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels_module, "FRAMES", Switched(FRAMES))
    monkeypatch.setenv(places.VARIABLES[0], str(tmp_path))
    monkeypatch.setattr(places, "places", lambda: (tmp_path / "nowhere", tmp_path))
    kernels = Kernels(tmp_path / "records-of-this.nbi")
    loader = KernelLoader(Story().log)
    loader.have((kernels,))
    assert not kernels.is_on  # nothing is kept
    kernels.marker.touch()
    loader.have((kernels,))
    assert kernels.is_on
    loader.close()


def test_engines_that_need_kernels_are_known() -> None:
    assert kernels_for_many(Engines()) == (RECORDS,)
    assert kernels_for_many(Engines("counting")) == ()
    assert kernels_of(Engines()) == ()
    assert kernels_of(Engines("columnar", "xtrie")) == (RECORDS,)
    assert kernels_of(Engines("counting", "path-automaton")) == (DOCUMENTS,)


async def test_kernels_that_an_engine_needs_are_loaded_before_listening() -> None:
    story, kernels = Story(), Switched(RECORDS)
    loader = KernelLoader(story.log)
    await loader.prepare((kernels,))
    await loader.prepare((kernels,))
    assert kernels.is_on
    assert [entry["event"] for entry in story.entries] == ["loading kernels before listening"]
    async with running(settings(engines=Engines("columnar", "path-automaton"))):
        assert RECORDS.compiled is not None
        assert DOCUMENTS.compiled is not None


async def test_broker_goes_over_to_compiled_kernels_between_two_publications(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    RECORDS.load()
    async with running() as broker:
        assert isinstance(broker.router, Router)
        monkeypatch.setattr(broker._kernels, "_wanted_after", 1)
        subscriber = await Raw.client(broker.address, "sub")
        publisher = await Raw.client(broker.address, "pub")
        subscriber.say(*(SubscribeRequest(f"s{n:02d}", f"a > {n}") for n in range(40)))
        for _ in range(40):
            await subscriber.next()
        serving: list[str] = []
        for number in range(1, 60):
            publisher.say(PublishRequest(number, body(f"p{number}", a=3)))
            assert await publisher.next() == AcceptedReply(number)
            expected = ("s00", "s01", "s02")
            assert await subscriber.next() == Delivery(expected, body(f"p{number}", a=3))
            engine = serving_engine(broker)
            assert isinstance(engine, AutoEngine)
            serving.append(engine.serving)
        assert serving[-1] == "columnar"
        for raw in (subscriber, publisher):
            await raw.close()


COLD = """
import asyncio, sys
from sapwood import parse_xpath
from sapwood.matching import readiness
from sapwood.model.publication import Publication
from sapwood.broker.kernels import KernelLoader
from sapwood.wire.interests import to_text
from sapwood.wire.publications import encode_publication
from sapwood.wire.runs import FRAMES
from tests.broker.helpers import Raw, body, running
from sapwood.wire.messages import (
    AcceptedReply, Delivery, Ping, Pong, PublishRequest, SubscribeRequest
)

readiness.REPORTED = 500

def document(name, content):
    return encode_publication(Publication(name, document=content))

async def main():
    wanted = {}
    KernelLoader.worked = lambda self, kernels, work: wanted.setdefault(kernels.name, work)
    KernelLoader.expected = lambda self, kernels: None
    async with running() as broker:
        subscriber = await Raw.client(broker.address, "sub")
        neighbor = await Raw.neighbor(broker)
        publisher = await Raw.client(broker.address, "pub")
        subscriber.say(*(SubscribeRequest(f"s{n}", f"a > {n} and b < {n}") for n in range(1000)))
        paths = [to_text(parse_xpath(f"//a[b = '{n}']")) for n in range(20)]
        subscriber.say(*(SubscribeRequest(f"x{n}", path) for n, path in enumerate(paths)), Ping())
        while await subscriber.next() != Pong():
            pass
        publisher.say(*(PublishRequest(n, body(f"p{n}", a=5, b=-1000)) for n in range(1, 1001)))
        publisher.say(PublishRequest(1001, document("d", b"<a><b>3</b></a>")))
        while await publisher.next() != AcceptedReply(1001):
            pass
        found = set()
        while "x3" not in found:
            message = await subscriber.next()
            found |= set(message.subscriptions if isinstance(message, Delivery) else ())
        for raw in (subscriber, neighbor, publisher):
            await raw.close()
    assert found == {"s0", "s1", "s2", "s3", "s4", "x3"}, found
    print(sorted(wanted), "numba" in sys.modules)

asyncio.run(main())
"""


@pytest.mark.network
def test_event_loop_never_imports_a_compiler() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLD],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.stdout == "['covering', 'frames', 'records'] False\n", done.stderr
