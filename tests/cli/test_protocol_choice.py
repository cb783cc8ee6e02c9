"""The protocol that a command was told."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.cli import protocol_choice
from sapwood.cli.protocol_choice import chosen_protocol, kept_protocol
from sapwood.errors import InputError, UnknownNameError


def test_a_dtd_goes_with_any_protocol(tmp_path: Path) -> None:
    dtd = tmp_path / "a.dtd"
    dtd.write_text("<!ELEMENT a (b*)><!ELEMENT b EMPTY>")
    for name in ("covering", "simple", "covering+merging:0.1"):
        assert chosen_protocol(name, str(dtd)).name == name
        assert chosen_protocol(name, None).name == name


def test_what_is_no_dtd_and_no_protocol_is_refused(tmp_path: Path) -> None:
    dtd = tmp_path / "a.dtd"
    dtd.write_text("no DTD")
    with pytest.raises(InputError):
        chosen_protocol("covering+merging", str(dtd))
    with pytest.raises(UnknownNameError):
        chosen_protocol("gossip", None)


@pytest.mark.parametrize(
    ("name", "upkeep"),
    [
        ("covering", "recover"),
        ("mesh+covering", "recover"),
        ("replay+covering", "replay"),
        ("recover+simple", "recover"),
    ],
)
def test_a_broker_that_keeps_what_it_is_told_recovers_unless_told_otherwise(
    name: str, upkeep: str
) -> None:
    assert kept_protocol(name, None).upkeep.name == upkeep


def test_what_does_not_go_with_recovering_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def excluding(name: str, dtd: str | None) -> object:
        if name.startswith("recover+"):
            raise InputError("they do not go together")
        return name

    monkeypatch.setattr(protocol_choice, "chosen_protocol", excluding)
    chosen: object = kept_protocol("covering", None)
    assert chosen == "covering"
