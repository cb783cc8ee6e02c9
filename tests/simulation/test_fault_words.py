"""Faults as words of a command line say the same as the tables of a file."""

from __future__ import annotations

import tomllib

import pytest

from sapwood.errors import InputError
from sapwood.overlay.shapes import parse_topology
from sapwood.simulation.fault_words import parse_fault, with_faults
from sapwood.simulation.faults import decode_faults

LINE = parse_topology("line:3", lambda _: 0)

SAME = (
    (
        "corruption router=r3 at=2 kinds=drop share=0.5",
        '[[corruption]]\nrouter = "r3"\nat = 2\nkinds = ["drop"]\nshare = 0.5',
    ),
    (
        "tampering between=r1,r2 start=1 seconds=2.5 how=alter",
        '[[tampering]]\nbetween = ["r1", "r2"]\nstart = 1\nseconds = 2.5\nhow = "alter"',
    ),
    ("timer router=r3 seconds=30", '[[timer]]\nrouter = "r3"\nseconds = 30'),
    ("clock at=1 drift=drawn", '[[clock]]\nat = 1\ndrift = "drawn"'),
    ("clock router=r2 stops=true", '[[clock]]\nrouter = "r2"\nstops = true'),
    ("link between=r1,r2 down=1 up=2", '[[link]]\nbetween = ["r1", "r2"]\ndown = 1\nup = 2'),
    ("router name=r2 down=1 tail=lost", '[[router]]\nname = "r2"\ndown = 1\ntail = "lost"'),
)


@pytest.mark.parametrize(("words", "file"), SAME)
def test_words_say_what_a_file_says(words: str, file: str) -> None:
    document = tomllib.loads(file)
    assert with_faults({}, [words]) == document
    said = decode_faults(with_faults({}, [words]), LINE, seed=1)
    assert said
    assert said == decode_faults(document, LINE, seed=1)


def test_words_come_behind_the_entries_of_a_file() -> None:
    document = tomllib.loads('[[timer]]\nrouter = "r1"\nseconds = 1')
    found = with_faults(document, ["timer router=r2 seconds=2", "timer router=3 seconds=1e1"])
    assert [entry["router"] for entry in found["timer"]] == ["r1", "r2", "3"]
    assert [entry["seconds"] for entry in found["timer"]] == [1, 2, 10.0]
    assert document == {"timer": [{"router": "r1", "seconds": 1}]}


@pytest.mark.parametrize(
    "text", ["", "timer r3", "timer router=", "timer =r3", "timer router=r1 router=r2"]
)
def test_what_is_no_fault_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_fault(text)


def test_errors_name_the_entry() -> None:
    with pytest.raises(InputError, match="timer 1"):
        decode_faults(with_faults({}, ["timer router=r9 seconds=1"]), LINE, seed=1)
    with pytest.raises(InputError, match="list of tables"):
        with_faults({"timer": 3}, ["timer router=r1 seconds=1"])
