"""Who waits for statements hears of them, once."""

from __future__ import annotations

import asyncio

import pytest

from sapwood.client.statements import Statements, finish
from sapwood.errors import ConnectionLostError, InputError


async def test_who_states_hears_when_it_is_in_force() -> None:
    statements = Statements("promise")
    waiting = asyncio.create_task(statements.in_force("a"))
    await asyncio.sleep(0)
    statements.stated("b")
    assert not waiting.done()
    statements.stated("a")
    await waiting
    statements.stated("a")


async def test_who_states_hears_of_a_refusal_and_of_a_withdrawal() -> None:
    statements = Statements("promise")
    refused = asyncio.create_task(statements.in_force("a"))
    withdrawn = asyncio.create_task(statements.in_force("b"))
    await asyncio.sleep(0)
    statements.refused("a", "no")
    statements.withdrawn("b")
    with pytest.raises(InputError, match="promise 'a' was refused: no"):
        await refused
    with pytest.raises(InputError, match="promise 'b' was withdrawn before"):
        await withdrawn


async def test_who_withdraws_is_one_of_several_and_the_first_asks() -> None:
    statements = Statements("promise")
    first, is_new = statements.begin_withdrawal("a")
    second, is_new_again = statements.begin_withdrawal("a")
    assert (is_new, is_new_again) == (True, False)
    assert first is second
    statements.withdrawn("a")
    await first
    assert statements.begin_withdrawal("a")[1]


async def test_all_hear_of_the_end() -> None:
    statements = Statements("promise")
    waiting = asyncio.create_task(statements.in_force("a"))
    await asyncio.sleep(0)
    withdrawal, _ = statements.begin_withdrawal("b")
    statements.fail(ConnectionLostError("gone"))
    with pytest.raises(ConnectionLostError):
        await waiting
    await withdrawal


async def test_finish_leaves_alone_what_is_finished() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    finish(None, None)
    finish(future, None)
    finish(future, InputError("late"))
    assert future.exception() is None
