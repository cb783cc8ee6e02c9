from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import InputError, InvalidValueError
from sapwood_lab.sweep.tasks import (
    experiment_named,
    figures_rows,
    outcome,
    result_rows,
    run_id,
)

NAME = f"{__name__}:square"


def square(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """An experiment: leaves a mark each time it runs, and fails where it is told to."""
    with Path(configuration["marks"]).open("a") as marks:
        marks.write(f"{configuration['n']}\n")
    if (Path(configuration["marks"]).parent / f"fail-{configuration['n']}").exists():
        raise ValueError("told to fail")
    return {"square": configuration["n"] ** 2}


def test_run_id_depends_on_what_is_run_and_not_on_the_order_of_names() -> None:
    assert run_id("a:b", {"x": 1, "y": 2}, "1") == run_id("a:b", {"y": 2, "x": 1}, "1")
    tried = [("a:b", 1, "1"), ("a:c", 1, "1"), ("a:b", "1", "1"), ("a:b", 1, "2")]
    assert len({run_id(experiment, {"x": x}, code) for experiment, x, code in tried}) == 4


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("square", "is named module:function"),
        (":square", "is named module:function"),
        ("no.such.module:f", "cannot be imported"),
        ("json:no_such_function", "cannot be imported"),
        ("json:__name__", "is no function"),
    ],
)
def test_experiment_named_refuses_what_is_none(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        experiment_named(name)


def test_outcome_is_figures_or_an_error(tmp_path: Path) -> None:
    experiment = experiment_named(NAME)
    marks = str(tmp_path / "marks")
    assert outcome(experiment, json.dumps({"n": 3, "marks": marks})) == ('{"square":9}', None)
    assert outcome(experiment, "{}") == (None, "KeyError: 'marks'")


def test_result_rows_have_one_type_a_column() -> None:
    found = [
        ('{"p": "a", "n": 1, "f": 1}', '{"y": true, "l": [1], "m": 1}'),
        ('{"p": "b", "n": 2, "f": 0.5}', '{"y": false, "m": "x"}'),
    ]
    ddl, rows = result_rows(found)
    assert ddl == "`f` DOUBLE, `n` BIGINT, `p` STRING, `l` STRING, `m` STRING, `y` BOOLEAN"
    assert rows == [(1.0, 1, "a", "[1]", "1", True), (0.5, 2, "b", None, "x", False)]
    assert result_rows([]) == ("", [])
    with pytest.raises(InvalidValueError, match="rename one of them"):
        result_rows([('{"n": 1}', '{"n": 1}')])


def test_an_experiment_may_have_several_rows_a_configuration() -> None:
    told, error = outcome(lambda given: [{"k": k, "power": given["n"] ** k} for k in (1, 2)], "{}")
    assert (told, error) == (None, "KeyError: 'n'")
    told, _ = outcome(lambda given: [{"power": given["n"] ** k} for k in (1, 2)], '{"n": 3}')
    assert told == '[{"power":3},{"power":9}]'
    assert figures_rows(told) == [{"power": 3}, {"power": 9}]
    assert figures_rows('{"power": 3}') == [{"power": 3}]
    ddl, rows = result_rows([('{"n": 3}', told)])
    assert ddl == "`n` BIGINT, `power` BIGINT"
    assert rows == [(3, 3), (3, 9)]
