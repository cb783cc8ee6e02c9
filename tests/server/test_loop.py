"""Processes run on the standard library's event loop."""

from __future__ import annotations

import asyncio

import pytest

from sapwood.server.loop import run


async def loop_module() -> str:
    return type(asyncio.get_running_loop()).__module__


def test_run_gives_the_result_from_a_loop_of_asyncio() -> None:
    assert run(loop_module()).startswith("asyncio")


def test_run_passes_on_what_was_raised() -> None:
    async def fail() -> None:
        raise LookupError("nothing")

    with pytest.raises(LookupError, match="nothing"):
        run(fail())
