"""The driver draws the same inputs again, and says what breaks the law and what does not."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from sapwood.errors import InputError
from sapwood_lab.fuzz import driver
from sapwood_lab.fuzz.driver import BLOCK, FINDINGS_MAX, Target, drawn, judged, run


def _target(read: Any) -> Target:
    return Target("numbers", 1, lambda random: int(random.random() * 1000), read)


def test_inputs_are_the_same_under_a_seed_however_many_are_drawn() -> None:
    target = _target(str)
    some = list(drawn(target, 1, BLOCK + 7))
    assert list(drawn(target, 1, 3 * BLOCK))[: BLOCK + 7] == some
    assert list(drawn(target, 2, BLOCK + 7)) != some


def test_a_documented_error_is_a_refusal_and_no_finding() -> None:
    def read(number: int) -> int:
        if number % 2:
            raise InputError(f"{number} is odd")
        return number

    report = run(_target(read), 1, 200)
    assert (report.inputs, report.findings) == (200, [])
    assert report.refused == sum(number % 2 for number in drawn(_target(read), 1, 200))


def test_any_other_error_is_a_finding_that_names_its_input() -> None:
    def read(number: int) -> int:
        return 1 // (number % 7)

    report = run(_target(read), 1, 100)
    inputs = list(drawn(_target(read), 1, 100))
    wrong = [number for number, one in enumerate(inputs) if one % 7 == 0]
    assert [one.number for one in report.findings] == wrong[:FINDINGS_MAX]
    for finding in report.findings:
        assert finding.drawn == repr(inputs[finding.number])
        assert "ZeroDivisionError" in finding.what


def test_a_target_that_is_always_wrong_is_given_up() -> None:
    report = run(_target(lambda number: [][number]), 1, 10 * FINDINGS_MAX)
    assert len(report.findings) == report.inputs == FINDINGS_MAX


def test_another_answer_to_the_same_input_is_a_finding() -> None:
    count = itertools.count()
    outcome, wrong = judged(_target(lambda _number: next(count)), 5)
    assert outcome == ("value", 0)
    assert wrong.startswith("read twice")


def test_another_error_for_the_same_input_is_a_finding() -> None:
    count = itertools.count()

    def read(_: int) -> None:
        raise InputError(f"refused for the {next(count)}th time")

    assert judged(_target(read), 5)[1].startswith("read twice")


def test_a_hang_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "HANG_S", 0.02)

    def read(_: int) -> None:
        while True:
            pass

    report = run(_target(read), 1, 1)
    assert "HungError" in report.findings[0].what
