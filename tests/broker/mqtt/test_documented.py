"""Examples on the listener's page: their output is what Mosquitto's commands print."""

from __future__ import annotations

import asyncio
import re
import shutil

import pytest

from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import soon
from tests.broker.mqtt.helpers import listening
from tests.broker.mqtt.test_clients import subscribed
from tests.test_docs import blocks

__all__ = ("nothing_is_left",)

STORIES = [
    re.findall(r"^\$ (.*\n)((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    for block in blocks("docs/mqtt.md", "console")
    if "mosquitto_sub" in block
]


@pytest.mark.skipif(
    shutil.which("mosquitto_sub") is None, reason="mosquitto-clients are not installed"
)
async def test_examples_of_the_page_run() -> None:
    """Of each, the first command subscribes and prints what those after it publish."""
    assert len(STORIES) == 2
    for (taking, output), *giving in STORIES:
        async with listening() as host:
            port = f"-p {host.port}"
            process = await asyncio.create_subprocess_shell(
                "exec " + taking.replace("-p 1883", port), stdout=asyncio.subprocess.PIPE
            )
            await soon(subscribed(host, 1))
            for command, silence in giving:
                given = await asyncio.create_subprocess_shell(
                    "exec " + command.replace("-p 1883", port)
                )
                assert (await soon(given.wait()), silence) == (0, "")
            told, _ = await soon(process.communicate())
            assert told.decode() == output
