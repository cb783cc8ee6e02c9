"""Clients that others have written: Mosquitto's commands and paho."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import shutil
import threading
from typing import Any

import pytest

import sapwood
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import soon
from tests.broker.mqtt.helpers import Listening, listening
from tests.patience import PATIENCE_S

__all__ = ("nothing_is_left",)

needs_mosquitto = pytest.mark.skipif(
    shutil.which("mosquitto_sub") is None, reason="mosquitto-clients are not installed"
)
needs_paho = pytest.mark.skipif(
    importlib.util.find_spec("paho") is None, reason="the package paho-mqtt is not installed"
)


async def begun(host: Listening, command: str, *more: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(f"mosquitto_{command}", "-h", host.host, "-p", str(host.port), *more),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def ran(host: Listening, command: str, *more: str) -> tuple[int | None, str]:
    """The status and all that a command prints."""
    process = await begun(host, command, *more)
    out, err = await soon(process.communicate())
    return process.returncode, (out + err).decode()


async def subscribed(host: Listening, count: int) -> None:
    """Return when so many subscriptions are in force."""
    while host.broker.router.table_sizes()["local"] < count:
        await asyncio.sleep(0.01)


@needs_mosquitto
async def test_mosquitto_publishes_and_subscribes() -> None:
    async with listening() as host, sapwood.connect(str(host.broker.address)) as other:
        found = await other.subscribe("topic like 'a/%' and t > 20")
        form = ("-F", "%t|%p|%P|%C|%q", "-C", "2", "-W", "30")
        taking = await begun(host, "sub", *("-V", "5", "-t", "a/+", "-q", "1", *form))
        await soon(subscribed(host, 2))
        json = ("-D", "publish", "content-type", "application/json")
        user = ("-D", "publish", "user-property", "site", "roof")
        told = await ran(
            *(host, "pub", "-V", "5", "-q", "1", "-t", "a/b", "-m", '{"t": 21}', *json, *user)
        )
        assert told == (0, "")
        assert await ran(host, "pub", "-V", "5", "-t", "a/c", "-m", "x") == (0, "")
        out, _ = await soon(taking.communicate())
        assert out.decode() == 'a/b|{"t": 21}|site:roof|application/json|1\na/c|x|||0\n'
        delivery = await soon(anext(aiter(found)))
        assert (delivery.attributes["site"], delivery.attributes["t"]) == ("roof", 21)


@needs_mosquitto
async def test_mosquitto_hears_reasons() -> None:
    async with listening() as host:
        status, told = await ran(host, "pub", "-t", "a", "-m", "x")
        assert (status, "version" in told) == (1, True), told
        status, told = await ran(host, "sub", "-V", "5", "-t", "$share/g/a", "-W", "9")
        assert "denied" in told, told
        json = ("-D", "publish", "content-type", "application/json")
        status, told = await ran(
            *(host, "pub", "-V", "5", "-q", "1", "-t", "a", "-m", "{", *json, "-d")
        )
        assert "RC:153" in told, told


def paho(host: Listening, **given: Any) -> Any:
    client = importlib.import_module("paho.mqtt.client")
    version = client.CallbackAPIVersion.VERSION2
    return client.Client(version, protocol=client.MQTTv5, **given)


@needs_paho
async def test_paho_publishes_and_subscribes() -> None:
    async with listening() as host:
        messages: list[Any] = []
        codes: list[int] = []
        done, ready = threading.Event(), threading.Event()

        def heard(_client: Any, _data: object, message: Any) -> None:
            messages.append(message)
            if len(messages) == 3:
                done.set()

        def connected(client: Any, *_: object) -> None:
            client.subscribe([("a/#", _options(1)), ("+/b/#", _options(0))])

        def _options(qos: int) -> Any:
            module = importlib.import_module("paho.mqtt.subscribeoptions")
            return module.SubscribeOptions(qos=qos)

        def subscribed(_client: Any, _data: object, _id: int, given: Any, *_: object) -> None:
            codes.extend(code.value for code in given)
            ready.set()

        def run() -> None:
            client = paho(host, client_id="taking")
            client.on_message, client.on_connect = heard, connected
            client.on_subscribe = subscribed
            client.connect(host.host, host.port)
            client.loop_start()
            assert ready.wait(PATIENCE_S)
            sender = paho(host, client_id="giving")
            sender.connect(host.host, host.port)
            sender.loop_start()
            told = sender.publish("a/b", b"1", qos=1, properties=_properties())
            told.wait_for_publish(PATIENCE_S)
            sender.publish("x/b/c", b"2").wait_for_publish(PATIENCE_S)
            sender.publish("x/c", b"no").wait_for_publish(PATIENCE_S)
            sender.publish("a", b"3", qos=1).wait_for_publish(PATIENCE_S)
            assert done.wait(PATIENCE_S)
            for one in (sender, client):
                one.disconnect()
                one.loop_stop()

        def _properties() -> Any:
            modules = [importlib.import_module(f"paho.mqtt.{one}") for one in _PROPERTIES]
            made = modules[0].Properties(modules[1].PacketTypes.PUBLISH)
            made.UserProperty = [("k", "v"), ("k2", "w")]
            made.CorrelationData = b"\0\1"
            return made

        await asyncio.to_thread(run)
        assert codes == [1, 0]
        assert [(one.topic, one.payload, one.qos) for one in messages] == [
            ("a/b", b"1", 1),
            ("x/b/c", b"2", 0),
            ("a", b"3", 1),
        ]
        assert messages[0].properties.UserProperty == [("k", "v"), ("k2", "w")]
        assert messages[0].properties.CorrelationData == b"\0\1"


_PROPERTIES = ("properties", "packettypes")
