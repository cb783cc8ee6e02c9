"""Examples on the gateway's page: their output is what curl gets."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import pytest

from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import soon
from tests.broker.http.helpers import Gate, gated
from tests.test_docs import blocks

__all__ = ("nothing_is_left",)

PAGE = "docs/gateway.md"
SHOWN = "http://127.0.0.1:7412"

EXAMPLES = [
    (command, output.rstrip("\n"))
    for block in blocks(PAGE, "console")
    for command, output in re.findall(r"^\$ (.*\n)((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    if "curl" in command and SHOWN in command
]
PLAIN = [one for one in EXAMPLES if "since=" not in one[0]]
KEPT = [one for one in EXAMPLES if "since=" in one[0]]

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")


async def shown(gate: Gate, command: str, output: str) -> str:
    """As much of what a command prints as the page shows."""
    process = await asyncio.create_subprocess_shell(
        command.replace("curl", "exec curl -s").replace(SHOWN, gate.url),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    if "curl -N" not in command:
        return (await soon(process.communicate()))[0].decode()
    try:
        lines = [await soon(process.stdout.readline())]
        if "since=" not in command:
            await shown(gate, *PLAIN[0])
        for _ in output.split("\n")[1:]:
            lines.append(await soon(process.stdout.readline()))  # noqa: PERF401
        return b"".join(lines).decode().rstrip("\n")
    finally:
        process.kill()
        await process.communicate()


@needs_curl
async def test_examples_of_the_page_run() -> None:
    assert len(PLAIN) >= 4
    async with gated() as gate:
        for command, output in PLAIN:
            assert await shown(gate, command, output) == output


@needs_curl
async def test_examples_that_need_a_journal_run(tmp_path: Path) -> None:
    assert KEPT
    async with gated(data=tmp_path) as gate:
        await shown(gate, *PLAIN[0])
        for command, output in KEPT:
            assert await shown(gate, command, output) == output
