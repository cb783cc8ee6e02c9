"""`run_documents` makes every table of the page."""

from __future__ import annotations

import pytest

from sapwood.errors import UnknownNameError
from sapwood_lab.benchmarks.documents import Choices, run_documents
from sapwood_lab.benchmarks.documents.contenders import PLAIN


@pytest.mark.long
def test_run_documents_measures_cells_updates_and_memory() -> None:
    report = run_documents(
        Choices(None, ("news twigs",), sizes=(60,), engines=("xtrie-paths", PLAIN), seconds=0.02)
    )
    assert [(c["workload"], c["engine"]) for c in report["cells"]] == [
        ("news twigs", "xtrie-paths"),
        ("news twigs", PLAIN),
    ]
    assert [u["verdict"] for u in report["updates"]] == ["agrees"]
    assert [m["verdict"] for m in report["memory"]] == ["measured"]
    assert [c["verdict"] for c in report["cells"]] == ["agrees", "agrees"]
    assert set(report["left_out"]) == {
        "nitf paths",
        "nitf twigs",
        "yfilter distinct",
        "yfilter duplicates",
        "yfilter valued",
    }


def test_run_documents_refuses_names_it_does_not_know() -> None:
    with pytest.raises(UnknownNameError, match="weather"):
        run_documents(Choices(workloads=("weather",)))
    with pytest.raises(UnknownNameError, match="steam"):
        run_documents(Choices(engines=("steam",)))
