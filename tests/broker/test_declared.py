"""A broker that knows what is published warns who asks for anything else."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest

from sapwood import NeverMatchesWarning
from sapwood.client import connect
from sapwood.errors import InputError
from sapwood.language.declared import Declared
from sapwood.model.schema import ANY_NUMBER, ANY_TEXT, Schema
from tests.broker.helpers import running, settings, soon

DECLARED = Declared((Schema("quote", {"symbol": ANY_TEXT, "price": ANY_NUMBER}),))


async def test_who_asks_for_what_is_not_declared_is_warned_and_gets_it_all_the_same() -> None:
    async with (
        running(settings(declared=DECLARED)) as broker,
        connect(str(broker.address)) as client,
    ):
        with pytest.warns(NeverMatchesWarning, match="did you mean 'price'"):
            wanted = await client.subscribe("prise > 3", "s1")
        assert "quote has no attribute 'prise'" in wanted.never_match["s1"]
        await client.publish({"prise": 4})
        assert (await soon(anext(wanted))).attributes == {"prise": 4}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            await wanted.change("price > 3")
            await client.subscribe_many(["symbol = 'SAP'", "price < 3"])
        with pytest.warns(NeverMatchesWarning, match="'mine' .* compared with a text"):
            await client.subscribe_many({"mine": "price = 'x'"})


async def test_a_strict_one_refuses_and_can_be_told_otherwise_while_it_runs() -> None:
    strict = settings(declared=DECLARED, strict=True)
    async with running(strict) as broker, connect(str(broker.address)) as client:
        with pytest.raises(InputError, match="no record that is declared can match it"):
            await client.subscribe("prise > 3")
        broker.take(replace(strict, declared=None))
        await client.subscribe("prise > 3")
