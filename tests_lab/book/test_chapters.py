"""Chapters of the book: works, their experiments, and what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sapwood_lab.book.chapters import carry_out_beforehand, here, make_chapters
from sapwood_lab.experiments.catalogue import EXPERIMENTS, Experiment
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Finding, Report, Row, table

CALLS: list[int] = []
BAD = 99


def measure(configuration: Configuration) -> list[Row]:
    CALLS.append(configuration["n"])
    if configuration["n"] == BAD:
        raise ZeroDivisionError
    return [{"square": configuration["n"] ** 2}]


def _report(choices: Choices, rows: Sequence[Row]) -> Report:
    found = Finding("numbers are even", all(row["n"] == 2 for row in rows), "", "some are odd")
    return Report("T", {"seed": choices.seed}, ("n", "square"), table(("n", "square"), rows), "",
                  findings=(found,))  # fmt: skip


DESIGN = Design(
    lambda choices: [{"n": n} for n in choices.sizes or (1, 2, 3)],
    measure,
    _report,
    Choices((2,), source="odd", repeats=3),
)


def _named(name: str, source: str) -> Experiment:
    return Experiment(name, source, "summary", lambda: DESIGN)


def test_chapters_are_works_in_the_order_of_their_first_experiment(tmp_path: Path) -> None:
    chosen = [_named("a", "W, figure 1"), _named("b", "V, table 2"), _named("c", "W, figure 3, x")]
    chapters = make_chapters(chosen, here(tmp_path), is_quick=True, seed=1)
    assert [(c.work, [s.experiment.name for s in c.sections]) for c in chapters] == [
        ("W", ["a", "c"]),
        ("V", ["b"]),
    ]
    assert chapters[0].sections[1].where == "figure 3, x"
    assert chapters[0].tally == (2, 0, 2)


def test_quick_takes_the_parameters_of_the_experiment_and_says_so_in_the_command(
    tmp_path: Path,
) -> None:
    for is_quick, seed, command, sizes in (
        (True, 1, "sapwood experiment a --sizes 2 --workload odd --repeats 3", [2]),
        (False, 7, "sapwood experiment a --seed 7", [1, 2, 3]),
    ):
        chosen = [_named("a", "W, figure 1")]
        ((section,),) = (
            c.sections for c in make_chapters(chosen, here(tmp_path), is_quick=is_quick, seed=seed)
        )
        assert section.command == command
        assert section.report.column("n") == sizes
        assert section.report.settings["seed"] == seed


def test_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    chosen = [_named("a", "W, figure 1")]
    CALLS.clear()
    first = make_chapters(chosen, here(tmp_path), is_quick=False, seed=1)
    again = make_chapters(chosen, here(tmp_path), is_quick=False, seed=1)
    assert CALLS == [1, 2, 3]
    assert first == again


@pytest.mark.long
def test_processes_do_beforehand_what_is_then_found(tmp_path: Path) -> None:
    """A failure is reported; the work that was done stays."""
    chosen = [_named("a", "W, figure 1")]
    CALLS.clear()
    advanced: list[int] = []
    carry_out_beforehand(chosen, tmp_path, 1, advanced.append, is_quick=False, seed=1)
    ((section,),) = (
        c.sections for c in make_chapters(chosen, here(tmp_path), is_quick=False, seed=1)
    )
    assert (CALLS, advanced) == ([], [1, 1, 1])
    assert section.report.column("square") == [1, 4, 9]


@pytest.mark.long
def test_what_fails_in_a_process_is_said_and_the_others_stay(tmp_path: Path) -> None:
    failing = Experiment("b", "W", "s", lambda: replace(DESIGN, quick=Choices((2, BAD, 3))))
    with pytest.raises(ZeroDivisionError):
        carry_out_beforehand([failing], tmp_path, 1, is_quick=True, seed=1)
    CALLS.clear()
    with pytest.raises(ZeroDivisionError):
        make_chapters([failing], here(tmp_path), is_quick=True, seed=1)
    assert CALLS == [BAD]


def test_all_experiments_belong_to_five_works() -> None:
    works = {EXPERIMENTS[name].source.partition(",")[0] for name in EXPERIMENTS}
    assert works == {"XNet", "Shen", "XSiena", "XPE dissemination", "IRBR"}
