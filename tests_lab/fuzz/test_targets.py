"""Each target keeps the law on some inputs, and reads at least some of them."""

from __future__ import annotations

import pytest

from sapwood_lab.fuzz.__main__ import main
from sapwood_lab.fuzz.driver import Target, run
from sapwood_lab.fuzz.targets import targets

INPUTS = 120


@pytest.mark.parametrize("target", [pytest.param(one, id=one.name) for one in targets()])
def test_a_target_keeps_the_law(target: Target) -> None:
    try:
        report = run(target, 1, INPUTS if target.share > 4 else INPUTS // 4)
    finally:
        target.close()
    assert report.findings == []
    assert report.refused < report.inputs


def test_targets_have_names_of_their_own() -> None:
    names = [one.name for one in targets()]
    assert len(set(names)) == len(names)


def test_the_command_says_what_came_of_each_target(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["fuzz", "--inputs", "40", "--target", "topic", "--target", "datagrams"]
    monkeypatch.setattr("sys.argv", given)
    assert main() == 0
    told = capsys.readouterr().out
    assert [one in told for one in ("datagrams", "topic filters", "all", "CloudEvents")] == [
        *(True, True, True, False),
    ]
