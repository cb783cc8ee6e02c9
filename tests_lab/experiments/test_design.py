"""Designs: configurations, measured one by one, and the report of all."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sapwood_lab.experiments.design import Choices, Configuration, Design, run
from sapwood_lab.experiments.report import Report, Row, table

COLUMNS = ("n", "power", "value")


def configurations(choices: Choices) -> list[Configuration]:
    return [{"n": size, "seed": choices.seed} for size in choices.sizes or (2, 3)]


def powers(configuration: Configuration) -> list[Row]:
    """Two rows a configuration."""
    return [{"power": k, "value": configuration["n"] ** k} for k in (2, 3)]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    return Report("Powers", {"seed": choices.seed}, COLUMNS, table(COLUMNS, rows), "nothing")


POWERS = Design(configurations, powers, report)


def test_run_measures_each_configuration_and_reports_all_rows() -> None:
    told: list[int] = []
    found = run(POWERS, Choices((5, 4), 6), told.append)
    assert found.rows == ((5, 2, 25), (5, 3, 125), (4, 2, 16), (4, 3, 64))
    assert found.settings == {"seed": 6}
    assert told == [1, 1]


def test_choices_left_out_are_those_of_the_design() -> None:
    assert run(POWERS, Choices()).column("n") == [2, 2, 3, 3]


def test_design_names_its_task_for_others() -> None:
    assert POWERS.task == f"{__name__}:powers"


def test_assemble_needs_what_was_found_of_every_configuration() -> None:
    with pytest.raises(ValueError, match="zip"):
        POWERS.assemble(Choices(), [[]])
