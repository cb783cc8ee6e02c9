"""The files of the tour are in the documented formats."""

from __future__ import annotations

from pathlib import Path

from sapwood.cli.tour.flights import AIRPORTS
from sapwood.cli.tour.inputs import write_inputs
from sapwood.files import StrictRejections, read_publications, read_subscriptions


def test_write_inputs_writes_files_that_read_back(tmp_path: Path) -> None:
    advanced: list[int] = []
    inputs = write_inputs(tmp_path / "out", 25, advanced.append)
    assert inputs.publications == sum(advanced) == 25
    lines = list(read_publications(str(inputs.publications_file), StrictRejections()))
    assert [line.publication.id for line in lines] == [f"f{n}" for n in range(1, 26)]
    assert {line.home for line in lines} <= set(AIRPORTS)
    found = tuple(read_subscriptions(str(inputs.subscriptions_file), StrictRejections()))
    assert found == inputs.subscriptions
