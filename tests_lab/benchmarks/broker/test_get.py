"""Fetching of peers: every peer with a driver is known, and a missing tool is named."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from sapwood_lab.benchmarks.broker.peers import FOLDER_VARIABLE, PEERS

BROKERS = Path(__file__).parents[3] / "benchmarks" / "peers" / "brokers"


@pytest.fixture(scope="module")
def get() -> ModuleType:
    spec = importlib.util.spec_from_file_location("peers_brokers_get", BROKERS / "get.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_peer_can_be_fetched(get: ModuleType) -> None:
    measured = [one for one in get.PEERS if one not in get.TESTED_AGAINST]
    fetched = [name for one in measured for name in (one, *get.BROUGHT.get(one, ()))]
    assert sorted(fetched) == sorted(peer.name for peer in PEERS)


def test_the_version_that_is_noted_is_the_one_that_is_built(get: ModuleType) -> None:
    pom = (BROKERS / "artemis" / "pom.xml").read_text("utf-8")
    assert f"<artemis.version>{get.ARTEMIS}</artemis.version>" in pom


def test_a_tool_that_is_not_there_is_named(get: ModuleType) -> None:
    with pytest.raises(get.MissingError, match="no-such-tool is not installed"):
        get.run(("no-such-tool",))


def test_a_tool_that_fails_has_its_last_words(get: ModuleType) -> None:
    with pytest.raises(get.MissingError, match=r"failed: .*no-such-file"):
        get.run(("ls", "no-such-file"))


def test_what_cannot_be_had_changes_nothing_for_the_others(
    get: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def missing(_root: Path) -> str:
        raise get.MissingError("there is none")

    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(get, "PEERS", {"one": missing, "two": lambda _root: "1.2"})
    monkeypatch.setattr(get, "BROUGHT", {"one": ("first",), "two": ("second",)})
    assert get.main([]) == 1
    shown = capsys.readouterr()
    assert shown.err == "one could not be had: there is none\n"
    assert shown.out == f"two 1.2 is in {tmp_path}\n"
    assert (tmp_path / "versions.json").read_text() == '{\n  "two": "1.2",\n  "second": "1.2"\n}\n'
