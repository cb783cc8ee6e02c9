"""The similarity graph after leaves and crashes, in small."""

from __future__ import annotations

import pytest

from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Cell, Row
from sapwood_lab.experiments.semantic_repairs import (
    COLUMNS,
    DESIGN,
    GAMMAS,
    NEWCOMERS,
    WAYS,
    report,
)
from tests_lab.experiments.semantic import uncalibrated

__all__ = ["uncalibrated"]


@pytest.mark.long
@pytest.mark.usefixtures("uncalibrated")
def test_the_experiment_makes_its_figures() -> None:
    choices = Choices((40,), 7, "news", 3)
    found = run(DESIGN, choices)
    assert found.columns == COLUMNS
    by = dict(zip(found.column("what"), found.rows, strict=True))
    answers, merged = by["answers"], by["merged answers"]
    asked = COLUMNS.index("answers_to_newcomer")
    assert (answers[asked], merged[asked]) == (40, 1)
    assert merged[-1] == answers[-1] == f"{NEWCOMERS} of {NEWCOMERS}"
    assert run(DESIGN, choices).rows == found.rows


def rows(what: str = "", **changed: Cell) -> list[Row]:
    """Rows with which all that is claimed holds, but for what is changed in one."""
    made: list[Row] = []
    for at, name in enumerate((*WAYS, *(f"gamma {gamma}" for gamma in GAMMAS))):
        row: dict[str, Cell] = {
            "peers": 2_000,
            "what": name,
            "fp_22_pct": 20 + at,
            "fn_22_pct": 4 - at / 2,
        }
        messages = {"full leaves": 9_000}.get(name, 90)
        made.append({**row, "messages": messages, **(changed if name == what else {})})
    for name in ("answers", "merged answers"):
        row = {"peers": 2_000, "what": name, "messages": 8, "same_neighbors": "10 of 10"}
        made.append({**row, **(changed if name == what else {})})
    return made


def test_claims_are_judged() -> None:
    assert all(one.holds for one in report(Choices(), rows()).findings)
    for claim, what, changed in (
        ("full leaves keep", "full leaves", {"fn_22_pct": 9}),
        ("less than a twentieth", "basic leaves", {"messages": 8_000}),
        ("after basic leaves and crashes", "crash", {"fn_22_pct": 9}),
        ("with indulgence", "gamma 3", {"fp_22_pct": 1}),
        ("with reduced probing", "merged answers", {"same_neighbors": "9 of 10"}),
    ):
        failed = [one for one in report(Choices(), rows(what, **changed)).findings if not one.holds]
        assert any(claim in one.claim for one in failed), claim
